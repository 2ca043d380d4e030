import CloudKitEmulator
import CloudKitModel
import CloudKitSchema
import CloudKitWebServices
public import MistKit

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension RunningEmulator {
    /// All records of a database as text, for comparisons of the whole state.
    ///
    /// ```swift
    /// print(try emulator.contents(of: .private))
    /// // Records
    /// //   Todo milk: isDone=0 list=→home title=Milk
    /// //   TodoList home: name=Home
    /// ```
    ///
    /// A line with the name of each zone is followed by a line for each of its records, in the order of their types and
    /// names, with the fields in the order of their names. Change tags and times are left out, and so are fields that
    /// hold bytes, such as the edit times of a local store.
    ///
    /// - Parameters:
    ///   - scope: The database.
    ///   - user: The user record name of the database's user; the one of ``userRecordName`` when `nil`.
    /// - Returns: The lines; empty for a database without records. Zones without records have no lines.
    /// - Throws: An `EmulatorError` when there is no such user.
    public func contents(of scope: DatabaseScope, ofUser user: String? = nil) throws -> String {
        let address = DatabaseAddress(containerIdentifier, environment, scope)
        let context = try rules.request(in: address, as: .user(user ?? userRecordName))
        var zones: [(name: String, records: [Record])] = []
        for zone in try (context.listZones().zones ?? []).map({ try $0.get().zoneID }) {
            let isDefault = zone.zoneName == ZoneID.default.zoneName
            zones.append((zone.zoneName, try isDefault ? allQueried(in: context) : allChanged(in: zone, context)))
        }
        return zones.filter { !$0.records.isEmpty }.sorted { $0.name < $1.name }
            .map { ([$0.name] + $0.records.map { "  \($0.line)" }.sorted()).joined(separator: "\n") }
            .joined(separator: "\n")
    }

    /// The records of a custom zone, which has a feed.
    private func allChanged(in zone: ZoneID, _ context: RequestContext) throws -> [Record] {
        var records: [Record] = []
        var token: String?
        while true {
            let page = try context.fetchRecordChanges(.init(zoneID: zone, syncToken: token))
            for result in page.records ?? [] {
                let record = try result.result.record
                if !record.isDeleted { records.append(record) }
            }
            guard page.moreComing == true else { return records }
            token = page.syncToken
        }
    }

    /// The records of the default zone, which has no feed.
    private func allQueried(in context: RequestContext) throws -> [Record] {
        let schema = try rules.schema(of: containerIdentifier, in: environment)
        var records: [Record] = []
        for type in schema.recordTypes where !ContainerSchema.isServiceType(type.name) {
            var marker: String?
            repeat {
                let query = RecordQuery(recordType: type.name)
                let page = try context.queryRecords(.init(query: query, continuationMarker: marker))
                for result in page.records ?? [] { records.append(try result.result.record) }
                marker = page.continuationMarker
            } while marker != nil
        }
        return records
    }
}

extension RecordResult {
    fileprivate var record: Record {
        get throws {
            switch self {
            case .success(let record): record
            case .failure(let error): throw CloudKitError(error.response, item: error.id.map { .record(name: $0) })
            }
        }
    }
}

extension Record {
    /// The type, the name and the fields.
    fileprivate var line: String {
        let values = fields.sorted { $0.name < $1.name }.compactMap { field in
            field.value.text.map { " \(field.name)=\($0)" }
        }
        return "\(recordType ?? "") \(recordName ?? ""):" + values.joined()
    }
}

extension FieldValue {
    /// The value in a few characters; `nil` for a value that is left out.
    fileprivate var text: String? {
        switch plain {
        case .null, .bytes: nil
        case .string(let text): text
        case .int64(let number): "\(number)"
        case .double(let number): "\(number)"
        case .timestamp(let date): "\(Int64((date.timeIntervalSince1970 * 1000).rounded()))"
        case .reference(let reference): "→\(reference.recordName)"
        case .stringList(let list): "[\(list.joined(separator: ","))]"
        case let other: "\(other)"
        }
    }
}
