import MistKit

/// What a restore would do to the records of a database, found without a change.
struct RestoreComparison {
    /// The records that the database does not have.
    private(set) var created = 0
    /// The records that the database has with other values.
    private(set) var changed = 0
    /// The number of changed records for each field.
    private(set) var fields: [String: Int] = [:]
    /// The records that the database has, and that stay as they are.
    private(set) var unchanged = 0
    /// The records that the restore cannot save.
    private(set) var refused = 0
    /// The records of the same zones, or of the same types in the default zone, that the file does not have. `nil` where
    /// the service does not list them.
    private(set) var onlyAtService: Int?

    private let existing: ImportRecordsCommand.Existing
    /// The zones of the file's records, with their record types.
    private var types: [String: Set<String>] = [:]

    /// The names that one request looks up.
    private static let namesPerRequest = 200

    /// Compares the records of a file with those of a database.
    ///
    /// - Parameters:
    ///   - source: The records of the file.
    ///   - database: The database. It is not changed.
    ///   - existing: What the restore does with records that exist.
    /// - Throws: A ``CommandError`` where the file cannot be read, or the `CloudKitError` of a request.
    init(
        of source: any TransferSource,
        with database: CloudKitDatabase,
        existing: ImportRecordsCommand.Existing
    ) async throws {
        self.existing = existing
        var reader = source
        var waiting: [String: [Record]] = [:]
        while let item = try reader.next() {
            let operation: RecordOperation
            do {
                operation = try ImportTransfer.operation(for: item, existing, nil, run: "", files: nil)
            } catch {
                refused += 1
                continue
            }
            let record = operation.record
            let zone = record.zoneID?.zoneName ?? ZoneID.default.zoneName
            types[zone, default: []].insert(record.recordType ?? "")
            waiting[zone, default: []].append(record)
            if let records = waiting[zone], records.count == Self.namesPerRequest {
                try await compare(records, of: zone, in: database)
                waiting[zone] = []
            }
        }
        for (zone, records) in waiting where !records.isEmpty { try await compare(records, of: zone, in: database) }
    }

    /// Counts the records that only the service has.
    mutating func countOthers(in database: CloudKitDatabase) async throws {
        var total = 0
        for (zone, types) in types.sorted(by: { $0.key < $1.key }) {
            do {
                if zone == ZoneID.default.zoneName {
                    for type in types.sorted() {
                        total += try await database.count(matching: Query<Record>(recordType: type))
                    }
                } else {
                    for try await page in database.changes(inZone: ZoneID(zoneName: zone), desiredKeys: []) {
                        total += page.changedRecords.count { $0.recordType != Share.recordType }
                    }
                }
            } catch let error as CloudKitError where error.code == .zoneNotFound {
                // The restore makes the zone.
            } catch let error as CloudKitError where error.code == .badRequest {
                // The type has no records yet, or no index for queries.
                return
            }
        }
        onlyAtService = max(0, total - changed - unchanged)
    }

    private mutating func compare(_ records: [Record], of zone: String, in database: CloudKitDatabase) async throws {
        let zoneID = zone == ZoneID.default.zoneName ? nil : ZoneID(zoneName: zone)
        let results: [Result<Record, CloudKitError>]
        do {
            results = try await database.fetch(records.map { $0.recordName ?? "" }, inZone: zoneID)
        } catch let error as CloudKitError where error.code == .zoneNotFound {
            created += records.count
            return
        }
        for (record, result) in zip(records, results) {
            switch result {
            case .success(let known): add(record, over: known)
            case .failure(let error) where [.notFound, .zoneNotFound].contains(error.code): created += 1
            case .failure(let error): throw error
            }
        }
    }

    /// Adds a record that exists.
    private mutating func add(_ record: Record, over known: Record) {
        let names = existing.changedFields(of: record, over: known)
        guard existing == .update || existing == .replace, !names.isEmpty else {
            if existing == .fail { refused += 1 } else { unchanged += 1 }
            return
        }
        changed += 1
        for name in names { fields[name, default: 0] += 1 }
    }

    /// The fields that change, with the number of records, the most frequent first.
    private var fieldList: String {
        let shown = fields.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let names = shown.prefix(5).map { "\($0.key) (\($0.value))" }
        return names.joined(separator: ", ")
            + (shown.count > names.count ? " and \(shown.count - names.count) more" : "")
    }

    /// The question before the change; `nil` where no record that exists would be changed.
    var question: String? {
        changed == 0
            ? nil : "Change \(String.counting(changed, "record")) that the service has, in the fields \(fieldList)?"
    }

    /// One line for each number.
    var description: String {
        var lines = ["create   \(String.counting(created, "record"))"]
        lines.append(
            "change   \(String.counting(changed, "record"))" + (changed > 0 ? ", in the fields \(fieldList)" : "")
        )
        lines.append(
            "leave    \(String.counting(unchanged, "record"))" + (existing == .skip ? " that exist" : " that are equal")
        )
        if refused > 0 { lines.append("refuse   \(String.counting(refused, "record"))") }
        if let onlyAtService {
            lines.append("only at the service: \(String.counting(onlyAtService, "record")), which stay")
        }
        return lines.joined(separator: "\n")
    }
}

extension ImportRecordsCommand.Existing {
    /// The fields that saving a record changes in the record that exists.
    fileprivate func changedFields(of record: Record, over known: Record) -> [String] {
        var names = record.fields.filter { name, value in
            known[name].map { $0 != value } ?? !value.isNull
        }.map(\.name)
        if self == .replace {
            names += known.fields.filter { name, value in !value.isNull && record[name] == nil }.map(\.name)
        }
        if let parent = record.parent, parent.recordName != known.parent?.recordName { names.append("parent") }
        return names
    }
}
