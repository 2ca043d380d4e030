import CloudKitModel
import MistKit
import SQLiteTables

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where a record comes from whose copy is sent.
struct OutgoingMove {
    /// What the service has of the record in its former zone, or may have.
    let former: KnownVersion?
    /// The name of the former zone.
    let zone: String
    let time: EditTime
}

/// A record as it is sent: a pure function of the row, its edits and the service's version.
struct OutgoingRecord {
    let row: LocalRow
    let table: RecordTable
    let known: KnownVersion?
    /// The move of a record whose copy the service does not have.
    let move: OutgoingMove?
    let edits: [EditRow]
    /// The amounts of counters that were pending when the file was copied, by field.
    let inherited: [String: InheritedCount]
    /// The amounts of counters that come from another copy of a moved record, by field.
    let carried: [String: [CarriedCount]]
    /// The fields whose link is left out.
    let emptied: Set<String>
    /// The number of this copy of the file.
    let device: Int64
    let serviceTime: ServiceTime
    /// Whether the type's records have a field for edit times.
    let writesTimes: Bool

    /// Whether the service does not have the record.
    var isCreate: Bool { known?.tag == nil }

    /// Makes the operation, and the edit times in it.
    ///
    /// - Returns: The operation, and its edit times; `nil` where the type's records have no edit times.
    func operation() -> (RecordOperation, EditTimes?) {
        var record = Record(recordType: table.recordType, recordName: row.name)
        let times = writesTimes ? times() : nil
        if isCreate {
            for field in table.fields where !emptied.contains(field.name) {
                if let value = row.fields[field.name] { record.fields[field.name] = value.saved(as: field) }
            }
            for (name, value) in move?.former?.other ?? [:] where table[name] == nil { record.fields[name] = value }
        } else {
            record.recordChangeTag = known?.tag
            for case let edit in edits {
                guard let field = edit.field, !emptied.contains(field.name) else { continue }
                record.fields[field.name] = row.fields[field.name]?.saved(as: field) ?? .null
            }
        }
        if let parent = table.parentField, !emptied.contains(parent.name),
            isCreate || edits.contains(where: { $0.field?.id == parent.id }),
            let target = row.fields[parent.name]?.referenceValue
        {
            record.parent = Reference(recordName: target.recordName)
        }
        if let times { record.fields[EditTimes.fieldName] = .bytes(Data(times.bytes)) }
        return (RecordOperation(isCreate ? .create : .update, record: record, desiredKeys: []), times)
    }

    /// When the value of a field was set that the copy of a moved record takes over; `nil` for any other record. The move
    /// itself is no edit of the field, and wins over none.
    func timeInFormerZone(of field: StoredField) -> ServiceTime? {
        guard isCreate, let former = move?.former, former.tag != nil else { return nil }
        let version = RemoteVersion(
            fields: [field.name: row.fields[field.name] ?? .null],
            times: former.times,
            modified: former.modified?.rawValue ?? 0
        )
        return ServiceTime(version.time(of: field.name).milliseconds)
    }

    /// The times of all fields: of edited fields the times of the edits, of other fields those of the service's
    /// version.
    private func times() -> EditTimes {
        var times = EditTimes()
        // The copy of a moved record has the times of the record that it is a copy of.
        let known = isCreate && move?.former?.tag != nil ? move?.former : known
        let isCopy = isCreate && known?.tag != nil
        if let earlier = known?.times.move, let zone = known?.times.movedFrom { times.setMove(earlier, from: zone) }
        times.parts = known?.times.parts ?? []
        let own = Dictionary(edits.map { ($0.field?.name ?? "", $0) }, uniquingKeysWith: { $1 })
        var remote: RemoteVersion?
        if let known, !isCreate || isCopy {
            var fields = known.other
            // The service's value under the present name of a renamed field is among the other fields.
            for field in table.fields where own[field.name] == nil && fields[field.name] == nil {
                fields[field.name] = row.fields[field.name]
            }
            remote = RemoteVersion(fields: fields, times: known.times, modified: known.modified?.rawValue ?? 0)
        }
        let insert = isCopy ? nil : own[""]
        times.creation = known?.times.creation
        if isCreate, let insert { times.creation = EditTime(insert.time, device: device) }
        if isCopy { times.creation = known?.creation }
        if let move {
            let time = move.time.clamped(toVersionOf: serviceTime.rawValue)
            // An update that moves: in the new zone there was an earlier copy.
            if isCreate || times.isMoved(before: time) { times.setMove(time, from: move.zone) }
        }
        for field in table.fields {
            let value = row.fields[field.name]
            let isEmptied = emptied.contains(field.name)
            if isEmptied || (isCreate && value == nil && own[field.name] == nil) {
                // A field that was never set loses to every edit.
                if isCreate {
                    let noted = isCopy && own[field.name] == nil ? remote?.times.time(of: field.name, nil) : nil
                    times.set(noted ?? EditTime(milliseconds: 0, device: 0), of: field.name, nil)
                } else if let remote, let edit = own[field.name] {
                    let time = remote.times.time(of: field.name, edit.base)
                    times.set(time ?? EditTime(milliseconds: remote.modified, device: 0), of: field.name, edit.base)
                }
            } else if let edit = own[field.name] ?? insert {
                let time = EditTime(edit.time, device: device)
                times.set(time.clamped(toVersionOf: serviceTime.rawValue), of: field.name, value)
                if field.schema.merge == .counter {
                    // If the service does not have the record, this device has added the whole value.
                    let pending = PendingEdit(
                        value: value,
                        base: isCreate && !isCopy ? nil : edit.base,
                        time: time,
                        inherited: inherited[field.name],
                        carried: carried[field.name] ?? []
                    )
                    let parts = CounterParts.parts(
                        of: field.name,
                        device: device,
                        edit: pending,
                        known: known?.times ?? EditTimes(),
                        at: serviceTime.rawValue
                    )
                    for part in parts { times.set(part) }
                }
            } else if let remote {
                let value = remote.fields[field.name]
                // An absent value without a noted time gets no time.
                if let value, value.isNull, remote.times.time(of: field.name, value) == nil { continue }
                times.set(remote.time(of: field.name), of: field.name, value)
            }
        }
        if let remote {
            for (name, value) in remote.fields where table[name] == nil {
                times.set(remote.time(of: name), of: name, value)
            }
        }
        times.parts = CounterParts.folded(times.parts)
        return times
    }
}

extension FieldValue {
    /// The value as it is sent: encrypted fields are marked as such.
    fileprivate func saved(as field: StoredField) -> FieldValue {
        if case .asset(var asset) = plain {
            // Which file it is on this machine is not sent.
            asset = asset.ofService
            asset.downloadURL = nil
            return .asset(asset)
        }
        return field.schema.isEncrypted ? .encrypted(plain) : plain
    }
}

extension RecordOperation {
    /// About how many bytes the operation takes in a request.
    var estimatedSize: Int {
        record.fields.reduce(200) { sum, field in sum + field.name.utf8.count + 40 + field.value.plain.estimatedSize }
    }
}

extension FieldValue {
    fileprivate var estimatedSize: Int {
        switch self {
        case .string(let text): text.utf8.count * 5 / 4
        case .bytes(let data): data.count * 4 / 3
        case .int64, .double, .timestamp, .null: 20
        case .reference(let reference): reference.recordName.utf8.count + 60
        default: Checksum.bytes(of: self).count
        }
    }
}
