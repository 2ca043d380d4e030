public import CloudKitModel

/// The records of a reply.
public struct RecordResults: Hashable, Sendable {
    /// One result for each record of the request, in its order, or the records that a query found.
    public var records: [RecordResult]
    /// The marker to send with the same query for the next page; `nil` on the last page.
    public var continuationMarker: String?
    /// The zone's sync token, where the request asked for it (`getCurrentSyncToken`). It is a token of `changes/zone`.
    public var syncToken: String?
}
