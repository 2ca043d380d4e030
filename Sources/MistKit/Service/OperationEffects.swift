import CloudKitWebServices

extension Operations {
    /// Whether the operation may be sent again when the client cannot know whether the service carried it out.
    static func isRepeatable(_ operationID: String) -> Bool { mistkitRepeatable[operationID] == true }

    /// Whether a request of the operation that was sent twice may change more than one that was sent once.
    static func isWrite(_ operationID: String) -> Bool { mistkitRepeatable[operationID] == false }
}
