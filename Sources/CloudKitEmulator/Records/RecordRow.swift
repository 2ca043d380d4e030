import CloudKitModel
import GRDB
import GRDBSQLite
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// CloudKit's record. GRDB has a class of the same name.
typealias Record = CloudKitModel.Record

/// A row of the table `record`: the system fields of a record, and its body as JSON.
struct RecordRow {
    let id: Int64
    let zone: Int64
    let name: String
    let type: Int64
    let sequence: Int64
    let isDeleted: Bool
    let created: Int64
    let creator: String?
    let modified: Int64
    let modifier: String?
    /// An object with the fields, the parent and other parts of the last write; `nil` when the record is deleted, and
    /// in the rows that ``RecordStorage`` returns.
    let body: JSONRawValue?

    /// The columns of a ``RecordRowCursor``, for a `SELECT` over `record`.
    static let columns = """
        record.id, record.zone, record.name, record.type, record.sequence, record.deleted, \
        record.created, record.creator, record.modified, record.modifier, record.body
        """

    /// The change tag: the zone's count of writes in base 36, the form of all recorded tags.
    var changeTag: String { String(sequence, radix: 36) }

    /// The content of the body: the fields, the parent and the parts of a share.
    func content() throws -> Record {
        guard let body else { return Record(recordName: nil) }
        var content = try body.read(Record.self)
        // Some values are read together with their spelling, such as numbers with more digits than a double can hold. A
        // stored value keeps no spelling, as it would then differ from the saved value. A type that says that the value
        // is encrypted is kept, because replies show it.
        for (name, value) in content.fields {
            guard case .verbatim(let verbatim) = value, FieldKind(encryptedTag: verbatim.type) == nil else { continue }
            content.fields[name] = verbatim.value
        }
        return content
    }

    /// The body for a content. It is spelled like a reply, so that a reply can contain it unchanged.
    static func body(of content: Record) throws -> [UInt8] {
        try JSONWriter.bytes(of: content, options: .wholeDoublesWithoutFraction)
    }

    /// The record's entry in a change feed after its deletion: no type, no fields (observed live).
    var tombstone: Record {
        var record = Record(recordName: name, recordChangeTag: changeTag, isDeleted: true)
        record.otherKeys["recordType"] = try? JSONRawValue(parsing: "null")
        return record
    }

    static func fetch(_ name: String, in zone: ZoneRow, _ db: Database) throws -> RecordRow? {
        try first(of: "SELECT \(columns) FROM record WHERE zone = ? AND name = ?", [zone.id, name], db)
    }

    /// Whether there is a live record of a name.
    static func exists(_ name: String, in zone: ZoneRow, _ db: Database) throws -> Bool {
        try db.row("SELECT 1 FROM record WHERE zone = ? AND name = ? AND deleted = 0", [zone.id, name]) != nil
    }

    static func fetch(id: Int64, _ db: Database) throws -> RecordRow? {
        try first(of: "SELECT \(columns) FROM record WHERE id = ?", [id], db)
    }

    private static func first(of sql: String, _ arguments: SQLArguments, _ db: Database) throws -> RecordRow? {
        try RecordRowCursor(sql, arguments, db).next()?.record
    }
}

extension RecordRow {
    /// Reads the columns from the statement itself. With a `Row` for each record, a page took an eighth longer.
    fileprivate init(of statement: SQLiteStatement, _ identities: IdentityNames) throws {
        func integer(_ column: CInt) -> Int64 { sqlite3_column_int64(statement, column) }
        id = integer(0)
        zone = integer(1)
        name = String(sqliteStatement: statement, index: 2)
        type = integer(3)
        sequence = integer(4)
        isDeleted = integer(5) != 0
        created = integer(6)
        creator = try identities.name(of: integer(7))
        modified = integer(8)
        modifier = try identities.name(of: integer(9))
        body = sqlite3_column_blob(statement, 10).map { blob in
            let bytes = UnsafeRawBufferPointer(start: blob, count: Int(sqlite3_column_bytes(statement, 10)))
            // A JSON writer made these bytes, so they are not checked.
            return JSONRawValue(unchecked: Array(bytes))
        }
    }
}

/// The records that a statement finds. The first columns of the statement are ``RecordRow/columns``; others may follow.
final class RecordRowCursor: Cursor {
    private let statement: Statement
    private let rows: RowCursor
    private let identities: IdentityNames

    init(_ sql: String, _ arguments: SQLArguments, _ db: Database) throws {
        statement = try db.cachedStatement(sql: sql)
        rows = try Row.fetchCursor(statement, arguments: arguments.checked())
        identities = IdentityNames(db)
    }

    /// The next record, and the row that it was read from. The row is valid until the next call.
    func next() throws -> (record: RecordRow, row: Row)? {
        guard let row = try rows.next() else { return nil }
        return (try RecordRow(of: statement.sqliteStatement, identities), row)
    }
}

/// The user record names for the numbers in rows, each looked up once.
private final class IdentityNames {
    private let db: Database
    private var names: [Int64: String] = [:]

    init(_ db: Database) {
        self.db = db
    }

    /// The name; `nil` for the number 0, as which SQLite reads the NULL of a row without a user.
    func name(of id: Int64) throws -> String? {
        if id == 0 { return nil }
        if let name = names[id] { return name }
        let name = try db.value("SELECT name FROM identity WHERE id = ?", [id], as: String.self)
        names[id] = name
        return name
    }
}

extension Record {
    /// The size in bytes to which the limit of 1 MB applies: names and values, not their spelling in JSON.
    var sizeWithoutAssets: Int {
        fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.plain.sizeWithoutAssets }
    }
}

extension RequestContext {
    /// How the records of a reply look.
    func presentation(
        desiredKeys: [String]? = nil,
        numbersAsStrings: Bool = false,
        zoneID: ZoneID? = nil
    ) -> RecordPresentation {
        RecordPresentation(
            desiredKeys: desiredKeys.map(Set.init),
            numbersAsStrings: numbersAsStrings,
            deviceID: configuration.deviceID,
            assetLinks: assetLinks,
            zoneID: zoneID,
            user: user,
            form: replyForm
        )
    }
}

/// How the records of a reply look.
struct RecordPresentation {
    var desiredKeys: Set<String>?
    var numbersAsStrings: Bool
    var deviceID: String
    var assetLinks: AssetLinks
    /// The zone ID of each record. Recorded replies have it for custom zones, but not replies of `records/modify`.
    var zoneID: ZoneID?
    /// The caller; `nil` for an anonymous caller.
    var user: String?
    var form: RequestContext.ReplyForm

    /// The record of a reply.
    func output(_ row: RecordRow, content: Record? = nil, schema: Schema) throws -> RecordOutput {
        guard let stored = storedContent(of: row, schema: schema) else {
            return .result(.success(try record(row, content: content, schema: schema)))
        }
        return .stored(
            StoredRecordOutput(
                recordName: row.name,
                recordType: schema.name(of: row.type),
                recordChangeTag: row.changeTag,
                created: stamp(row.created, row.creator),
                modified: stamp(row.modified, row.modifier),
                zoneID: zoneID,
                content: stored
            )
        )
    }

    /// The record of a reply, as values.
    func record(_ row: RecordRow, content: Record? = nil, schema: Schema) throws -> Record {
        var record = try content ?? row.content()
        stamp(&record, row, schema: schema)
        if let user, let participants = record.shareAccess.participants {
            record.shareAccess.currentUserParticipant = participants.first { $0.userIdentity?.userRecordName == user }
        }
        if let desiredKeys {
            record.fields = Record.Fields(
                record.fields.lazy.filter { desiredKeys.contains($0.name) }.map { ($0.name, $0.value) }
            )
        }
        for (name, value) in record.fields where !value.assets.isEmpty {
            record.fields[name] = assetLinks.linked(value)
        }
        if numbersAsStrings {
            record.fields = Record.Fields(record.fields.map { ($0.name, $0.value.numbersAsStrings) })
        }
        return record
    }

    /// The content as it is stored; `nil` where the reply has it in another form.
    private func storedContent(of row: RecordRow, schema: Schema) -> JSONRawValue? {
        guard form == .written, desiredKeys == nil, !numbersAsStrings, !schema.isTranslated(row.type) else {
            return nil
        }
        return row.body
    }

    /// Adds the system fields of a record.
    private func stamp(_ record: inout Record, _ row: RecordRow, schema: Schema) {
        record.recordName = row.name
        record.recordType = schema.name(of: row.type)
        record.recordChangeTag = row.changeTag
        record.created = stamp(row.created, row.creator)
        record.modified = stamp(row.modified, row.modifier)
        record.isDeleted = false
        record.pluginFields = [:]
        record.zoneID = zoneID
    }

    private func stamp(_ milliseconds: Int64, _ user: String?) -> Record.Stamp {
        Record.Stamp(
            timestamp: Date(milliseconds: milliseconds),
            userRecordName: user,
            deviceID: deviceID
        )
    }
}

extension Date {
    /// The point in time this many milliseconds after 1970.
    init(milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    /// The nearest whole millisecond since 1970.
    package var milliseconds: Int64 {
        Int64(exactly: (timeIntervalSince1970 * 1000).rounded()) ?? 0
    }
}
