import StreamingJSON

/// A push about a change that the caller subscribed to.
///
/// ```swift
/// for try await notification in service.notifications() {
///     switch notification.change {
///     case .record(let change): print(change.reason, change.recordName, change.recordFields["title"] ?? "")
///     case .zone(let zone): try await follow(zone)
///     case .database: try await followZones()
///     case .other: break
///     }
/// }
/// ```
///
/// A push is a hint, not a log: a push can get lost, one push can stand for several changes, and its field values can
/// be pruned. Fetch the changes with a change token (``CloudKitDatabase/changes(since:pageSize:)``) after each push,
/// and once at the beginning.
///
/// ## Topics
///
/// ### What happened
/// - ``change-swift.property``
/// - ``Change-swift.enum``
/// - ``RecordChange``
/// - ``subscriptionID``
/// - ``databaseScope``
///
/// ### The push itself
/// - ``init(_:)``
/// - ``payload``
/// - ``notificationID``
/// - ``isPruned``
public struct CloudKitNotification: Hashable, Sendable {
    /// The event, by the kind of the subscription.
    public enum Change: Hashable, Sendable {
        /// A query subscription: a change of one record.
        case record(RecordChange)
        /// A zone subscription: something changed in this zone.
        case zone(ZoneID)
        /// A database subscription: something changed in a zone, which the push may name.
        case database(ZoneID?)
        /// A push of a kind that this version does not know, or a push that is not CloudKit's; see
        /// ``CloudKitNotification/payload``.
        case other
    }

    /// A change of a record that matches a query subscription.
    public struct RecordChange: Hashable, Sendable {
        /// The kind of the change.
        public var reason: Reason
        /// The record's name.
        public var recordName: String
        /// The record's zone.
        public var zoneID: ZoneID
        /// The values of the fields that the subscription names (`NotificationInfo.additionalFields`), as far as the
        /// push has room for them.
        ///
        /// Pushes have values without types, so a date or a Boolean is a number here.
        public var recordFields: Record.Fields
    }

    /// The kind of a change of a record.
    public enum Reason: Hashable, Sendable {
        /// The record was created.
        case created
        /// The record was changed.
        case updated
        /// The record was deleted.
        case deleted
        /// A number that this version does not know; `nil` where the push has no number.
        case unknown(Int64?)

        init(_ number: Int64?) {
            self =
                switch number {
                case 1: .created
                case 2: .updated
                case 3: .deleted
                default: .unknown(number)
                }
        }
    }

    /// Where a push came from, which decides how it numbers the databases.
    enum Source {
        /// The web courier. CloudKit JS, its only known client, reads 0 as the public database.
        case webCourier
        /// Apple's push service: 1 is public, 2 private, 3 shared (samples of native pushes).
        case pushService
    }

    /// The push as it was received.
    public let payload: PushPayload
    private let source: Source

    /// The event.
    public let change: Change

    /// Reads a push of Apple's push service. Pushes of the web courier come from
    /// ``CloudKitService/notifications(apnsEnvironment:clientID:)``.
    ///
    /// - Parameter payload: The push.
    public init(_ payload: PushPayload) {
        self.init(payload, from: .pushService)
    }

    init(_ payload: PushPayload, from source: Source) {
        self.payload = payload
        self.source = source
        let content = payload.content
        if let query = content?.query, let recordName = query.recordName {
            change = .record(
                RecordChange(
                    reason: Reason(query.reason),
                    recordName: recordName,
                    zoneID: query.zoneID ?? .default,
                    recordFields: Record.Fields(query.fields ?? [:])
                )
            )
        } else if let zoneID = content?.zone?.zoneID {
            change = .zone(zoneID)
        } else if let database = content?.database {
            change = .database(database.zoneID)
        } else {
            change = .other
        }
    }

    /// The push's own identifier.
    public var notificationID: String? { payload.content?.notificationID }

    /// The container in which something happened.
    public var containerIdentifier: String? { payload.content?.containerIdentifier }

    /// The name of the subscription that the push is from.
    public var subscriptionID: String? { payloadChange?.subscriptionID }

    /// The database in which something happened.
    ///
    /// In samples of native pushes, 1 is public, 2 is private and 3 is shared. In pushes of the web courier, 0 is public
    /// for CloudKit JS, so 1 is private and 2 is shared; that the service numbers them so is not confirmed.
    /// ``subscriptionID`` is reliable.
    public var databaseScope: DatabaseScope? {
        switch (payloadChange?.databaseNumber, source) {
        case (0, _), (1, .pushService): .public
        case (1, .webCourier), (2, .pushService): .private
        case (2, .webCourier), (3, _): .shared
        default: nil
        }
    }

    /// Whether the push may be about a database, by either way of numbering.
    func mayConcern(_ scope: DatabaseScope) -> Bool {
        switch payloadChange?.databaseNumber {
        case 0: scope == .public
        case 1: scope != .shared
        case 2: scope != .public
        case 3: scope == .shared
        default: true
        }
    }

    /// Whether the push was too large, so that values of fields were left out.
    public var isPruned: Bool { payload.content?.isPruned ?? false }

    private var payloadChange: PushPayload.Change? {
        payload.content?.query ?? payload.content?.zone ?? payload.content?.database
    }
}

extension PushPayload.Change {
    /// The zone, with its owner if that is another user.
    fileprivate var zoneID: ZoneID? {
        zoneName.map { ZoneID(zoneName: $0, ownerRecordName: zoneOwner == "_defaultOwner" ? nil : zoneOwner) }
    }
}

extension Record.Fields {
    /// Makes fields from values without types, in the order of their names. The form of a value decides its type.
    fileprivate init(_ values: [String: JSONValue]) {
        self.init()
        for (name, value) in values.sorted(by: { $0.key < $1.key }) {
            let field: JSONValue = ["value": value]
            guard let bytes = try? JSONWriter.bytes(of: field),
                let read = try? JSONReader.read(FieldValue.self, from: bytes)
            else { continue }
            if case .verbatim(let verbatim) = read { self[name] = verbatim.value } else { self[name] = read }
        }
    }
}
