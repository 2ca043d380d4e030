import MistKit
import StreamingJSON

/// A record, and the JSON that a mirror keeps of it.
struct MirrorRecord: Sendable {
    var record: Record
    var json: [UInt8]

    init(_ record: Record) throws(JSONError) {
        self.record = record
        json = try JSONWriter.bytes(of: record)
    }
}

/// A page of a zone's changes or of a query, with all that can be made of it before it is written.
struct MirrorPage: Sendable {
    /// The records that were saved.
    var changed: [MirrorRecord]
    /// The names of the records that were deleted.
    var deleted: [String]
    /// Where the next page begins: a change token, or the marker of a query, which the last page has not.
    var position: String?
    /// Whether there is another page.
    var moreComing: Bool

    /// - Throws: The error of a record that the service could not give, or a `JSONError`.
    init(_ page: RecordPage<Record>) throws {
        changed = try page.results.map { result in try MirrorRecord(result.get()) }
        deleted = []
        position = page.marker
        moreComing = page.marker != nil
    }

    private init(_ page: ZoneChanges) throws(CloudKitError) {
        if let failure = page.failures.first { throw failure }
        do {
            changed = try page.changedRecords.map { record throws(JSONError) in try MirrorRecord(record) }
        } catch {
            throw CloudKitError(code: .unexpectedResponse, message: "\(error)")
        }
        deleted = page.deletedRecords.compactMap(\.recordName)
        position = page.token.text
        moreComing = page.moreComing
    }

    /// The page of one of the zones that a request asked for, or why there is none.
    static func result(of zone: MultipleZoneChanges.ZoneResult) -> Result<MirrorPage, CloudKitError> {
        zone.result.flatMap { page in Result { () throws(CloudKitError) in try MirrorPage(page) } }
    }
}
