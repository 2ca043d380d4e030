import CloudKitEmulator
import CloudKitWebServices

/// The operations of the document, answered by an emulator's rules.
///
/// Each handler takes a request's parts to the rules and the reply's parts back; it decides nothing. What the rules throw
/// becomes a response in ``Refusal``.
struct EndpointHandlers: APIProtocol {
    /// Who makes the request that the present task answers.
    @TaskLocal static var caller = Caller.anonymous

    /// Where the client of the present task found the server, such as `http://127.0.0.1:8080`.
    @TaskLocal static var address = ""

    let emulator: CloudKitEmulator

    var caller: Caller { Self.caller }
}

extension DatabaseAddress {
    /// The database that a path names; the document gives one form to the paths of all operations on databases.
    init(_ path: Operations.QueryRecords.Input.Path) {
        self.init(path.container, path.environment, path.database)
    }
}
