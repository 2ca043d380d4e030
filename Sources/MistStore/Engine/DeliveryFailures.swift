import MistKit
import SQLiteTables

/// The records that the service reports with an error in place of their fields. They are looked up.
struct DeliveryFailures: EngineProcedure {
    let transaction: EngineTransaction

    /// Notes a record that a feed or a query lists with an error.
    ///
    /// The service has this record, or had it: a create that was not acknowledged was stored. Then a lookup without a
    /// result is a delete. The error may also stand for a delete that this device has sent before the create; this is
    /// known after the zone has been read.
    func noteListed(_ name: String, _ error: CloudKitError, in zone: StoredZone) throws {
        try note(name, error, in: zone)
        if try !reportedDeletes.isOwn(name, in: zone.id) { try knownVersions.markStored(name, in: zone.id) }
    }

    /// Notes a record that the service reported with an error.
    func note(_ name: String, _ error: CloudKitError, in zone: StoredZone) throws {
        let attempts = try undelivered.attempts(of: name, in: zone.id)
        try undelivered.note(
            name,
            in: zone.id,
            error.description,
            until: now + delay(after: attempts, error),
            heldSince: error.retryAfter == nil ? nil : now,
            attempts: attempts + 1
        )
        // It exists, so a pull of everything has met it.
        try knownVersions.note(zone.epoch, named: name, in: zone.id)
        try tombstones.note(zone.epoch, named: name, in: zone.id)
        try foreignRecords.note(zone.epoch, named: name, in: zone.id)
        if error.code == .throttled { try restScope(because: error) }
    }

    /// Forgets that the service could not deliver a record. After the last one, deletes that waited for it are
    /// completed.
    func noteDelivery(of name: String, in zone: StoredZone) throws {
        guard try undelivered.forget(name, in: zone.id), try undelivered.isEmpty(in: zone.id) else { return }
        try zones.markStaleForReportedDeletes(zone.id)
    }
}

extension CloudKitError {
    /// The name of the record that was not delivered; `nil` for an error that names none.
    var undeliveredName: String? { recordName.flatMap { $0.isEmpty ? nil : $0 } }
}
