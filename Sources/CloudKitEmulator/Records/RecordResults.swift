public import CloudKitModel

/// The records of a reply.
public struct RecordResults: Hashable, Sendable {
    /// One result for each record of the request, in its order, or the records that a query found.
    public var records: [RecordResult]
    /// What to send with the same query for the next page; `nil` when there is none.
    public var continuationMarker: String?
    /// The zone's sync token, where it was asked for (`getCurrentSyncToken`). It is a token of `changes/zone`.
    public var syncToken: String?
}
