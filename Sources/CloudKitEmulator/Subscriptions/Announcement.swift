import CloudKitModel
import GRDB
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What happened to a record in a transaction.
struct RecordEvent {
    let kind: Subscription.Event
    let row: RecordRow
    /// The record afterwards; of a deleted one, before.
    let content: Record

    /// How a push says it (`fo`).
    fileprivate var number: Int64 {
        switch kind {
        case .create: 1
        case .update: 2
        default: 3
        }
    }
}

/// Tells the subscriptions of a database what a transaction changed: it queues a push for each device of each person whose
/// subscription fires.
///
/// A query subscription gives one push for each record: for one that was made or changed and now matches, for one that was
/// deleted and matched. A zone or database subscription gives one for the whole transaction.
struct Announcement {
    let emulator: CloudKitEmulator
    let ground: Ground
    let zone: ZoneRow
    let db: Database
    private let subscriptions: [StoredSubscription]

    /// Reads who wants to know; `nil` when nobody does.
    init?(_ emulator: CloudKitEmulator, of zone: ZoneRow, in ground: Ground, _ db: Database) throws {
        subscriptions = try StoredSubscription.all(ofDatabase: ground.database, db)
        if subscriptions.isEmpty { return nil }
        self.emulator = emulator
        self.ground = ground
        self.zone = zone
        self.db = db
    }

    /// Queues the pushes.
    func announce(_ events: [RecordEvent], schema: Schema?) throws {
        var hasQueued = false
        for stored in subscriptions {
            let pushes = try contents(of: stored, events, schema)
            guard !pushes.isEmpty else { continue }
            // One that fires once fires for one record, too.
            let firesOnce = stored.subscription.firesOnce == true
            for push in firesOnce ? pushes.prefix(1) : pushes[...] {
                if try queue(push, for: stored) { hasQueued = true }
            }
            if firesOnce { try StoredSubscription.delete(stored.id, db) }
        }
        if hasQueued { db.afterNextTransaction { [bell = emulator.bell] _ in bell.ring() } }
    }

    // MARK: What fires

    private func contents(
        of stored: StoredSubscription,
        _ events: [RecordEvent],
        _ schema: Schema?
    ) throws -> [(content: PushPayload.Content, event: RecordEvent?)] {
        let subscription = stored.subscription
        var change = PushPayload.Change(
            databaseNumber: emulator.configuration.unsettled.databaseNumber(of: ground.address.scope),
            zoneName: zone.name,
            zoneOwner: Ground.defaultOwner,
            subscriptionID: stored.name
        )
        switch subscription.subscriptionType {
        case .zone?:
            guard (subscription.zoneID ?? .default).zoneName == zone.name else { return [] }
            return [(PushPayload.Content(zone: change), nil)]
        case .database?:
            return [(PushPayload.Content(database: change), nil)]
        default:
            guard let query = subscription.query, watches(subscription),
                let type = schema?[query.recordType]
            else { return [] }
            let candidates = events.filter { event in
                event.row.type == type.id && subscription.firesOn?.contains(event.kind) == true
            }
            guard !candidates.isEmpty else { return [] }
            let conditions: [QueryCondition]
            do {
                conditions = try query.filters.map { filter throws(EmulatorError) in
                    try QueryCondition(filter, of: type, configuration: emulator.configuration)
                }
            } catch {
                // The filter was made before the type had fields, and does not fit them: nothing matches it.
                return []
            }
            return candidates.filter { event in
                conditions.allSatisfy { $0.matches(QueryCandidate(row: event.row, content: event.content)) }
            }.map { event in
                change.recordName = event.row.name
                change.reason = event.number
                change.fields = subscription.notificationInfo?.fieldsToSend.map { event.content.bareValues(of: $0) }
                return (PushPayload.Content(query: change), event)
            }
        }
    }

    /// Whether a query subscription watches the zone.
    private func watches(_ subscription: Subscription) -> Bool {
        if let zoneID = subscription.zoneID { return zoneID.zoneName == zone.name }
        return zone.isDefault
            || subscription.zoneWide ?? emulator.configuration.unsettled.querySubscriptionsAreZoneWide
    }

    // MARK: Queueing

    /// Queues a push for all devices of a subscription's owner.
    ///
    /// - Returns: Whether there is a device.
    private func queue(
        _ push: (content: PushPayload.Content, event: RecordEvent?),
        for stored: StoredSubscription
    ) throws -> Bool {
        let devices = try DeviceTokenRow.all(of: stored.owner, container: ground.container, db).filter {
            $0.isRegistered || !emulator.configuration.unsettled.deviceTokensNeedRegistration
        }
        for device in devices {
            var content = push.content
            content.containerIdentifier = ground.address.container
            content.notificationID = emulator.identifiers.uuid()
            content.userRecordName = stored.owner
            var payload = PushPayload(content: content)
            if let info = stored.subscription.notificationInfo {
                let badge = info.shouldBadge == true ? try device.countBadge(db) : nil
                payload.presentation = info.presentation(of: push.event?.content, badge: badge)
            }
            let limit = emulator.configuration.limits
            try device.queue(payload.fitting(limit.pushSize), atMost: limit.pushesPerDevice, db)
        }
        return !devices.isEmpty
    }
}

extension NotificationInfo {
    /// The fields whose values a push brings along. The spelling is not known; natively they are called desired keys.
    fileprivate var fieldsToSend: [String]? {
        additionalFields ?? otherKeys["desiredKeys"].flatMap { try? $0.read([String].self) }
    }

    /// What the push shows; `nil` where it shows nothing.
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
    /// Values of fields as they stand on the wire, without their types.
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
    /// The payload, without the fields' values where it would be too large for the push service.
    fileprivate func fitting(_ size: Int) throws(JSONError) -> [UInt8] {
        let bytes = try JSONWriter.bytes(of: self)
        guard bytes.count > size, content?.query?.fields != nil else { return bytes }
        var pruned = self
        pruned.content?.query?.fields = nil
        pruned.content?.isPruned = true
        return try JSONWriter.bytes(of: pruned)
    }
}
