import CloudKitModel
import GRDB
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Notifies the subscribers of a transaction's changes: it queues a push for each device of each user whose
/// subscription fires.
///
/// The subscriptions are those of the zone's own database, and those of the shared databases that show the zone. In a
/// shared database, a subscription fires only for records that its owner sees.
///
/// A query subscription gives one push for each record that was created or changed and now matches, or that was deleted
/// and matched before. A zone or database subscription gives one push for the whole transaction.
struct PushFanout {
    private let context: DatabaseContext
    private let zone: ZoneRow
    private var db: Database { context.db }
    private let watches: [Watch]

    /// A subscription, in the database that it belongs to.
    private struct Watch {
        let stored: StoredSubscription
        let scope: DatabaseScope
        /// The owner of the zone, where that is not the subscriber.
        let zoneOwner: String?

        init(_ row: Row) throws {
            stored = try StoredSubscription(row)
            zoneOwner = row["zone_owner"]
            let key: String = row["database_owner"]
            scope =
                zoneOwner != nil ? .shared : key == DatabaseContext.ownerKey(of: .public, for: nil) ? .public : .private
        }

        /// Whether a zone ID of the subscription names this zone.
        func names(_ zone: ZoneRow, by zoneID: ZoneID) -> Bool {
            zoneID.zoneName == zone.name && (zoneOwner == nil || zoneID.owner == zoneOwner)
        }
    }

    /// Reads the subscriptions that may fire; `nil` when no subscription may.
    init?(for zone: ZoneRow, in context: DatabaseContext) throws {
        watches = try context.db.rows(
            """
            SELECT subscription.id, subscription.owner, subscription.name, subscription.body,
                database.owner AS database_owner, source.zone_owner
            FROM (
                SELECT database, NULL AS zone_owner FROM zone WHERE id = ?1
                UNION ALL SELECT database, owner FROM shared_zone WHERE zone = ?1 AND deleted = 0
            ) AS source
            CROSS JOIN subscription ON subscription.database = source.database
            JOIN database ON database.id = source.database
            ORDER BY subscription.id
            """,
            [zone.id]
        ).map(Watch.init)
        if watches.isEmpty { return nil }
        self.context = context
        self.zone = zone
    }

    /// Queues the pushes.
    func send(_ events: [RecordChange], schema: Schema?) throws {
        var hasQueued = false
        var sent: [SentPush] = []
        for watch in watches {
            let stored = watch.stored
            let seen = try watch.scope == .shared ? events.filter { try sees($0, stored.owner) } : events
            // A subscriber that sees none of the changed records is not notified. The creation or deletion of a zone
            // has no events.
            guard seen.count > 0 || events.isEmpty else { continue }
            let pushes = try contents(of: watch, seen, schema)
            guard !pushes.isEmpty else { continue }
            // A subscription with `firesOnce` fires for one record only.
            let firesOnce = stored.subscription.firesOnce == true
            for push in firesOnce ? pushes.prefix(1) : pushes[...] {
                let push = try queue(push, for: stored)
                if push.devices > 0 { hasQueued = true }
                sent.append(push)
            }
            if firesOnce { try StoredSubscription.delete(stored.id, db) }
        }
        if !sent.isEmpty {
            db.afterNextTransaction { [history = context.emulator.pushHistory, sent] _ in history.add(sent) }
        }
        if hasQueued { db.afterNextTransaction { [signal = context.emulator.pushSignal] _ in signal.send() } }
    }

    // MARK: What fires

    /// Whether a share shows the record of an event to a participant, or did so until the record was deleted.
    private func sees(_ event: RecordChange, _ user: String) throws -> Bool {
        try db.row(
            """
            SELECT 1 FROM share_member JOIN participation ON participation.share = share_member.share
            WHERE share_member.record = ? AND (share_member.left_at IS NULL OR ?)
                AND participation.user = ? AND participation.zone = ? AND participation.ended IS NULL
            """,
            [event.row.id, event.kind == .delete, user, zone.id]
        ) != nil
    }

    private func contents(
        of watch: Watch,
        _ events: [RecordChange],
        _ schema: Schema?
    ) throws -> [(content: PushPayload.Content, event: RecordChange?)] {
        let subscription = watch.stored.subscription
        var content = PushPayload.Content(version: 2)
        var change = PushPayload.Change(
            databaseNumber: context.configuration.unsettled.databaseNumber(of: watch.scope),
            zoneName: zone.name,
            zoneOwner: watch.zoneOwner ?? DatabaseContext.defaultOwner,
            subscriptionID: watch.stored.name
        )
        switch subscription.subscriptionType {
        case .zone?:
            guard watch.names(zone, by: subscription.zoneID ?? .default) else { return [] }
            content.zone = change
            return [(content, nil)]
        case .database?:
            content.database = change
            return [(content, nil)]
        default:
            guard let query = subscription.query, isWatched(by: watch),
                let type = schema?[query.recordType]
            else { return [] }
            let candidates = events.filter { event in
                event.row.type == type.id && subscription.firesOn?.contains(event.kind) == true
            }
            guard !candidates.isEmpty else { return [] }
            let conditions: [QueryCondition]
            do {
                conditions = try query.filters.map { filter throws(EmulatorError) in
                    try QueryCondition(filter, of: type, configuration: context.configuration)
                }
            } catch {
                // The filter was created before the type had fields, and does not fit them. So no record matches it.
                return []
            }
            return try candidates.filter { event in
                let candidate = QueryCandidate(row: event.row, content: event.content)
                return try conditions.allSatisfy { try $0.matches(candidate) }
            }.map { event in
                change.recordName = event.row.name
                change.reason = event.number
                change.fields = subscription.notificationInfo?.fieldsToSend.map { event.content.bareValues(of: $0) }
                content.query = change
                return (content, event)
            }
        }
    }

    /// Whether a query subscription watches the zone.
    private func isWatched(by watch: Watch) -> Bool {
        if let zoneID = watch.stored.subscription.zoneID { return watch.names(zone, by: zoneID) }
        let isWide = context.configuration.unsettled.querySubscriptionsAreZoneWide
        return zone.isDefault || watch.stored.subscription.zoneWide ?? isWide
    }

    // MARK: Queueing

    /// Queues a push for all devices of a subscription's owner.
    ///
    /// - Returns: What was sent.
    private func queue(
        _ push: (content: PushPayload.Content, event: RecordChange?),
        for stored: StoredSubscription
    ) throws -> SentPush {
        let devices = try DeviceTokenRow.all(of: stored.owner, container: context.containerID, db).filter {
            $0.isRegistered || !context.configuration.unsettled.deviceTokensNeedRegistration
        }
        var sent: [UInt8]?
        for device in devices {
            var content = push.content
            content.containerIdentifier = context.address.container
            content.notificationID = context.identifiers.uuid()
            content.userRecordName = stored.owner
            var payload = PushPayload(content: content)
            if let info = stored.subscription.notificationInfo {
                let badge = info.shouldBadge == true ? try device.countBadge(db) : nil
                payload.presentation = info.presentation(of: push.event?.content, badge: badge)
            }
            let limit = context.configuration.limits
            let bytes = try payload.fitting(limit.pushSize)
            try device.queue(bytes, atMost: limit.pushesPerDevice, db)
            sent = sent ?? bytes
        }
        return SentPush(
            time: Date(timeIntervalSince1970: Double(context.now) / 1000),
            container: context.address.container,
            environment: context.address.environment,
            subscriptionID: stored.name,
            owner: stored.owner,
            devices: devices.count,
            payload: try sent ?? JSONWriter.bytes(of: PushPayload(content: push.content)),
            subscription: stored.id
        )
    }
}

extension RecordChange {
    fileprivate var kind: Subscription.Event { new == nil ? .delete : old == nil ? .create : .update }

    /// The number of the event in a push (`fo`).
    fileprivate var number: Int64 { new == nil ? 3 : old == nil ? 1 : 2 }

    /// The record after the change; for a deleted record, before it.
    fileprivate var content: Record { new ?? old ?? Record(recordName: nil) }
}

extension NotificationInfo {
    /// The fields whose values a push carries. The spelling of the member is not known; the native framework calls them
    /// desired keys.
    fileprivate var fieldsToSend: [String]? {
        additionalFields ?? otherKeys["desiredKeys"].flatMap { try? $0.read([String].self) }
    }

    /// The visible part of the push; `nil` where it shows nothing.
    fileprivate func presentation(of record: Record?, badge: Int64?) -> PushPayload.Presentation? {
        var presentation = PushPayload.Presentation(
            contentAvailable: shouldSendContentAvailable == true ? 1 : nil,
            badge: badge,
            sound: soundName,
            category: otherKeys["category"].flatMap { try? $0.read(String.self) }
        )
        let alert = PushPayload.Alert(
            body: alertBody,
            localizationKey: alertLocalizationKey,
            localizationArguments: alertLocalizationArgs.map { names in
                names.map { name in record?.bareValues(of: [name])[name].map(text(of:)) ?? "" }
            },
            actionLocalizationKey: alertActionLocalizationKey,
            launchImage: alertLaunchImage
        )
        if alert != PushPayload.Alert() { presentation.alert = alert }
        return presentation == PushPayload.Presentation() ? nil : presentation
    }

    private func text(of value: JSONValue) -> String {
        if let text = value.stringValue { return text }
        return (try? JSONWriter.bytes(of: value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

extension Record {
    /// Values of fields as JSON, without their types.
    fileprivate func bareValues(of names: [String]) -> [String: JSONValue] {
        var values: [String: JSONValue] = [:]
        for name in names {
            guard let value = fields[name], !value.isNull,
                let json = try? JSONReader.read(JSONValue.self, from: JSONWriter.bytes(of: value))
            else { continue }
            values[name] = json["value"]
        }
        return values
    }
}

extension PushPayload {
    /// The payload. Where it would be longer than `size` bytes, it is written without the values of fields.
    fileprivate func fitting(_ size: Int) throws(JSONError) -> [UInt8] {
        let bytes = try JSONWriter.bytes(of: self)
        guard bytes.count > size, content?.query?.fields != nil else { return bytes }
        var pruned = self
        pruned.content?.query?.fields = nil
        pruned.content?.isPruned = true
        return try JSONWriter.bytes(of: pruned)
    }
}
