import Synchronization

/// The user that a client writes as. The service names the user in the replies to writes, so this costs no request.
final class LastWriter: Sendable {
    private let name = Mutex<String?>(nil)

    /// The user record name; `nil` before the first write, and if the service does not name the user.
    var userRecordName: String? { name.withLock { $0 } }

    /// Takes the name from the replies to writes.
    func note(_ results: [Result<Record, CloudKitError>]) {
        for case .success(let record) in results {
            // A record that is deleted may still say who changed it before.
            guard !record.isDeleted, let writer = record.modified?.userRecordName else { continue }
            name.withLock { $0 = writer }
            return
        }
    }
}
