import CloudKitModel
import GRDB
public import MistKit
import StreamingJSON

/// How far a fetch goes from record to record.
public struct RelationDepth: Hashable, Sendable {
    /// The most steps; `nil` for all.
    let steps: Int?

    /// All related records, at any distance.
    public static let all = RelationDepth(steps: nil)

    /// The related records that are at most this many steps away: 1 for the direct ones, 0 for none.
    ///
    /// - Parameter steps: The number of steps. A negative number is 0.
    /// - Returns: The depth.
    public static func depth(_ steps: Int) -> RelationDepth { RelationDepth(steps: max(0, steps)) }
}

/// A record with the records that are related to it, as they were in one state of the store.
///
/// ```swift
/// let home = try await todos.fetch(TodoList.self, named: "home", including: .all)
/// for todo in try home.children(Todo.self) { print(todo.title) }
///
/// let milk = try await todos.fetch(Todo.self, named: "milk", including: .depth(1))
/// print(try milk[milk.record.list]?.name ?? "")
/// ```
///
/// The related records are the targets of the record's references and of its lists of references, and the records that
/// would be removed with it: its children, and those that refer to it with the action `deleteSelf`. The next step
/// continues from all of these records, with one exception: a record that was reached as a target brings its own
/// targets, but not its children. So a to-do brings its list, but not the other to-dos of the list; a list brings all
/// of its to-dos.
///
/// Each record is read once, so circles of references end. A target that is not on this machine is left out.
public struct RelatedRecords<Model: CloudKitRecord>: Sendable {
    /// The record that was fetched.
    public let record: StoredRecord<Model>
    private let graph: RecordGraph

    fileprivate init(record: StoredRecord<Model>, graph: RecordGraph) {
        self.record = record
        self.graph = graph
    }

    /// The number of related records, of all types.
    public var count: Int { graph.records.count - 1 }

    /// The related records that cannot be read as their types, in the order of their names. The lists of this value
    /// leave them out.
    public var unreadable: [UnreadableRecord] {
        graph.unreadable.values.sorted { ($0.recordName, $0.recordType) < ($1.recordName, $1.recordType) }
    }

    /// The target of a reference, of the fetched record or of a related one.
    ///
    /// - Parameter reference: The reference; `nil` has no target.
    /// - Returns: The record; `nil` when it is not on this machine, is farther away than the fetch went, or cannot be
    ///   read as its type: see ``unreadable``.
    /// - Throws: A `FieldError` when the record's fields do not fit the type.
    public subscript<Target>(reference: RecordReference<Target>?) -> StoredRecord<Target>? {
        get throws {
            guard let reference, reference.zoneID.map({ $0.zoneName == graph.zoneID.zoneName }) ?? true else {
                return nil
            }
            let key = RecordGraph.Key(type: Target.recordType, name: reference.recordName)
            guard graph.unreadable[key] == nil else { return nil }
            return try graph.records[key].map { try StoredRecord<Target>($0) }
        }
    }

    /// The related records of a type, in the order of their names. The fetched record itself is not one of them, and
    /// ``unreadable`` has those that cannot be read as the type.
    ///
    /// - Parameter type: The type.
    /// - Returns: The records.
    /// - Throws: A `FieldError` when the fields of a record do not fit the type.
    public func records<Other: CloudKitRecord>(of type: Other.Type) throws -> [StoredRecord<Other>] {
        let own = RecordGraph.Key(type: Model.recordType, name: record.recordName)
        return try graph.records
            .filter { $0.key.type == Other.recordType && $0.key != own && graph.unreadable[$0.key] == nil }
            .sorted { $0.key.name < $1.key.name }
            .map { try StoredRecord<Other>($0.value) }
    }

    /// The records of a type that would be removed with the fetched record, one step away, in the order of their names.
    ///
    /// - Parameter type: The type of the children.
    /// - Returns: Its children, and the records that refer to it with the action `deleteSelf`.
    /// - Throws: A `FieldError` when the fields of a record do not fit the type.
    public func children<Child: CloudKitRecord>(_ type: Child.Type) throws -> [StoredRecord<Child>] {
        try children(type, of: record)
    }

    /// The records of a type that would be removed with a record, one step away, in the order of their names.
    ///
    /// - Parameters:
    ///   - type: The type of the children.
    ///   - parent: The fetched record, or a related one.
    /// - Returns: The children of the record, and the records that refer to it with the action `deleteSelf`. The list
    ///   is empty where the fetch went no further than the record, and for a record that was only reached as a target.
    /// - Throws: A `FieldError` when the fields of a record do not fit the type.
    public func children<Child: CloudKitRecord, Parent: CloudKitRecord>(
        _ type: Child.Type,
        of parent: StoredRecord<Parent>
    ) throws -> [StoredRecord<Child>] {
        try (graph.dependents[parent.recordName] ?? [])
            .filter { $0.type == Child.recordType && graph.unreadable[$0] == nil }
            .sorted { $0.name < $1.name }
            .compactMap { try graph.records[$0].map { try StoredRecord<Child>($0) } }
    }
}

extension StoreReading {
    /// Fetches the record with a name, and the records that are related to it.
    ///
    /// - Parameters:
    ///   - type: The record's type.
    ///   - recordName: The record's name.
    ///   - depth: How far to go from record to record.
    /// - Returns: The record and its related records; see ``RelatedRecords`` for which these are.
    /// - Throws: A ``StoreError``: `notFound` when there is no such record on this machine.
    public func fetch<Model: CloudKitRecord>(
        _ type: Model.Type,
        named recordName: String,
        including depth: RelationDepth
    ) throws -> RelatedRecords<Model> {
        try fetch(type, named: recordName, in: nil, including: depth)
    }

    fileprivate func fetch<Model: CloudKitRecord>(
        _ type: Model.Type,
        named recordName: String,
        in zoneID: ZoneID?,
        including depth: RelationDepth
    ) throws -> RelatedRecords<Model> {
        let table = try database.file.table(of: Model.recordType)
        let row = try row(named: recordName, in: zoneID, table)
        let record = try database.record(row, as: type, table, db)
        guard let zone = try StoredZone.fetch(row.zone, db) else {
            throw StoreError(.notFound, "The record has no zone.", recordType: Model.recordType, recordName: recordName)
        }
        var graph = RecordGraph(file: database.file, zone: zone)
        try graph.read(from: row, of: table, depth, db)
        return RelatedRecords(record: record, graph: graph)
    }
}

extension LocalDatabase {
    /// Fetches the record with a name and the records that are related to it, in one call and from one state of the
    /// file.
    ///
    /// ```swift
    /// let home = try await todos.fetch(TodoList.self, named: "home", including: .all)
    /// for todo in try home.children(Todo.self) { print(todo.title) }
    /// ```
    ///
    /// For each step the store reads each table a few times; the number of reads does not depend on the number of
    /// records.
    ///
    /// - Parameters:
    ///   - type: The record's type.
    ///   - recordName: The record's name.
    ///   - depth: How far to go from record to record.
    /// - Returns: The record and its related records; see ``RelatedRecords`` for which these are.
    /// - Throws: A ``StoreError``: `notFound` when there is no such record on this machine.
    public func fetch<Model: CloudKitRecord>(
        _ type: Model.Type,
        named recordName: String,
        including depth: RelationDepth
    ) async throws -> RelatedRecords<Model> {
        try await read { try $0.fetch(type, named: recordName, including: depth) }
    }

    /// Fetches the record that a reference points to, and the records that are related to it.
    ///
    /// - Parameters:
    ///   - reference: The reference.
    ///   - depth: How far to go from record to record.
    /// - Returns: The record and its related records; see ``RelatedRecords`` for which these are.
    /// - Throws: A ``StoreError``: `notFound` when there is no such record on this machine.
    public func fetch<Model: CloudKitRecord>(
        _ reference: RecordReference<Model>,
        including depth: RelationDepth
    ) async throws -> RelatedRecords<Model> {
        try await read { reader in
            try reader.fetch(Model.self, named: reference.recordName, in: reference.zoneID, including: depth)
        }
    }
}

// MARK: - Reading level by level

/// A record and its related records, all of one zone.
private struct RecordGraph: Sendable {
    struct Key: Hashable, Sendable {
        let type: String
        let name: String
    }

    let zoneID: ZoneID
    private let file: StoreFile
    private let zone: ZoneRowID
    /// All records that were read, the first included.
    private(set) var records: [Key: CloudKitModel.Record] = [:]
    /// Those of the records that cannot be read as their types.
    private(set) var unreadable: [Key: UnreadableRecord] = [:]
    /// The records that would be removed with a record, by its name, for each record whose dependents were read.
    private(set) var dependents: [String: Set<Key>] = [:]

    /// The work of the next step: to read the dependents of `owners`, and the records with the names in `targets`.
    private struct Frontier {
        var owners: Set<String> = []
        var targets: Set<String> = []
        var isEmpty: Bool { owners.isEmpty && targets.isEmpty }
    }

    init(file: StoreFile, zone: StoredZone) {
        self.file = file
        self.zone = zone.id
        zoneID = zone.zoneID
    }

    mutating func read(from row: LocalRow, of table: RecordTable, _ depth: RelationDepth, _ db: Database) throws {
        var frontier = Frontier()
        try note([row], of: table, areOwners: true, &frontier, db)
        var steps = depth.steps
        while !frontier.isEmpty, steps != 0 {
            frontier = try step(from: frontier, db)
            steps = steps.map { $0 - 1 }
        }
    }

    private mutating func step(from frontier: Frontier, _ db: Database) throws -> Frontier {
        var next = Frontier()
        for name in frontier.owners { dependents[name] = [] }
        let owners = try Self.json(frontier.owners)
        for table in file.orderedTables where !frontier.owners.isEmpty {
            for field in table.fields where field.type == .reference {
                let rows = try table.rows(
                    "\(field.column) IN (SELECT value FROM json_each(?)) AND _zone = ?\(field.bindingCondition)",
                    [owners, ColumnValue(zone)],
                    db
                )
                for row in rows {
                    guard let owner = row.fields[field.name]?.referenceValue?.recordName else { continue }
                    dependents[owner, default: []].insert(Key(type: table.recordType, name: row.name))
                }
                try note(rows, of: table, areOwners: true, &next, db)
            }
        }
        let targets = try Self.json(frontier.targets)
        for table in file.orderedTables where !frontier.targets.isEmpty {
            let rows = try table.rows(
                "_zone = ? AND _recordName IN (SELECT value FROM json_each(?))",
                [ColumnValue(zone), targets],
                db
            )
            try note(rows, of: table, areOwners: false, &next, db)
        }
        return next
    }

    /// Adds the rows that are new, and extends the work of the next step.
    private mutating func note(
        _ rows: [LocalRow],
        of table: RecordTable,
        areOwners: Bool,
        _ next: inout Frontier,
        _ db: Database
    ) throws {
        // A record that was first reached as a target may be reached as a child later. Then its children are read, too.
        if areOwners { next.owners.formUnion(rows.map(\.name).filter { dependents[$0] == nil }) }
        let new = rows.filter { records[Key(type: table.recordType, name: $0.name)] == nil }
        guard !new.isEmpty else { return }
        let known = try KnownVersion.fetch(named: Self.json(new.map(\.name)), in: zone, file.sealer, db)
        for row in new {
            let record = CloudKitModel.Record(row, of: table, known[row.name], in: zoneID)
            let key = Key(type: table.recordType, name: row.name)
            records[key] = record
            if let misfit = file.unreadable(row, of: table, known[row.name], in: zoneID) { unreadable[key] = misfit }
            for field in table.fields {
                guard let value = row.fields[field.name] else { continue }
                next.targets.formUnion(value.references.map(\.recordName))
            }
        }
    }

    private static func json(_ names: some Sequence<String>) throws -> ColumnValue {
        .text(String(decoding: try JSONWriter.bytes(of: names.sorted()), as: UTF8.self))
    }
}

extension StoredField {
    /// The SQL condition under which a record is removed with the target of the field: always if the field is the
    /// parent, otherwise only with the action `deleteSelf`.
    var bindingCondition: String { schema.isParent ? "" : " AND \(actionColumn ?? "NULL") = 1" }
}

extension RecordTable {
    /// The rows in a zone that are removed with a record, because of a reference in a field.
    func rows(boundTo name: String, by field: StoredField, in zone: ZoneRowID, _ db: Database) throws -> [LocalRow] {
        try rows(
            "\(field.column) = ? AND _zone = ?\(field.bindingCondition)",
            [.text(name), ColumnValue(zone)],
            db
        )
    }
}

extension FieldValue {
    /// The references of the value: that of a `REFERENCE`, or those of a `REFERENCE_LIST`.
    var references: [Reference] { referenceValue.map { [$0] } ?? referenceListValue ?? [] }
}
