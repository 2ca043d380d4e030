import CloudKitWebServices

extension Operations {
    /// Whether the operation may be sent again when the client cannot know whether the service carried it out.
    static func isRepeatable(_ operationID: String) -> Bool { mistkitRepeatable[operationID] == true }

    /// Whether sending a request of the operation twice may change more than sending it once.
    static func isWrite(_ operationID: String) -> Bool { mistkitRepeatable[operationID] == false }
}
