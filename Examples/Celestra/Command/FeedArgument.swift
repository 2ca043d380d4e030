import CelestraUpdates
import MistModels
import ProgramSupport
import WebFetching

/// A feed on the command line: its address or its record name.
struct FeedArgument {
    private let text: String

    init(_ text: String) {
        self.text = text
    }

    /// The record name of the feed.
    ///
    /// - Throws: A ``CommandFailure`` for an address that no feed has. A record name is not looked up.
    func recordName(in database: CloudKitDatabase) async throws -> String {
        guard let address = WebAddress(text) else { return text }
        let query = Query<FeedRecord>(limit: 1) { Filter(\.feedURL == address.text) }
        guard let record = try await database.records(matching: query).first() else {
            throw CommandFailure(
                .data,
                "There is no feed with the address \(address). `celestra list` lists the feeds."
            )
        }
        return record.recordName
    }
}
