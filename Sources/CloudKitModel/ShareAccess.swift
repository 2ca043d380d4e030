/// The participants of a share and their permissions: the members that only a record of the type `cloudkit.share` has.
///
/// ```swift
/// record.shareAccess.publicPermission = .readOnly
/// record.shareAccess.participants = [.invited(.emailAddress("ben@example.com"), permission: .readWrite)]
/// // {"recordType":"cloudkit.share",…,"publicPermission":"READ_ONLY","participants":[…]}
/// ```
///
/// Programs usually read and change these through the client's `Share`.
public struct ShareAccess: Hashable, Sendable {
    /// The record to be shared, with its change tag; in requests to create a share only.
    public var forRecord: RecordVersion?

    /// What people who are not participants of the share may do; `nil` in requests keeps what the share has.
    public var publicPermission: SharePermission?

    /// The participants of the share, with its owner. In requests this is the whole list: a user who is missing from it
    /// is no longer a participant; `nil` keeps the participants.
    public var participants: [Participant]?

    /// The owner of the share; in responses only.
    public var owner: Participant?

    /// The caller, as a participant of the share; in responses only.
    public var currentUserParticipant: Participant?

    /// Makes the access of a share of which nothing is said.
    public init() {}
}
