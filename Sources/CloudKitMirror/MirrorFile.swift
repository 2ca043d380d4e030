import Foundation
import GRDB
import MistKit
import MistStore
import StreamingJSON

/// A zone of a mirror.
struct MirrorZone {
    let id: Int64
    let name: String
    /// The owner in a mirror of the shared database; empty in others, where it is the user.
    let owner: String
    /// The change token of the zone; `nil` before its first page.
    var token: String?
    /// The number of times that the zone was read from the start again.
    var generation: Int64
    /// Whether the zone is being read from the start again. Until the end, it may have rows of records that no longer
    /// exist.
    var isRereading: Bool

    /// The zone as requests name it.
    var zoneID: ZoneID { ZoneID(zoneName: name, ownerRecordName: owner.isEmpty ? nil : owner) }
    var ownerValue: ColumnValue { owner.isEmpty ? .null : .text(owner) }

    init(_ row: Row) {
        id = row["id"]
        name = row["zone"]
        owner = row["zoneOwner"]
        token = row["token"]
        generation = row["generation"]
        isRereading = row["isRereading"]
    }
}

/// The SQLite file of a mirror: a table for each record type, and the bookkeeping in tables whose names begin with
/// `mirror_`.
///
/// Rows and their change token are always saved in one transaction, so a process that is killed at any point leaves a
/// file that the next run continues. Pages that follow one another quickly share a transaction: record names are
/// random, so that each commit rewrites a large part of the indexes.
final class MirrorFile {
    /// The version of the tables. A file of another version is not opened.
    static let format: Int64 = 2
    /// What distinguishes mirrors from other SQLite databases (`PRAGMA application_id`): "Mirr".
    static let applicationID: Int64 = 0x4D69_7272

    /// The file; `nil` for a mirror in memory.
    let url: URL?
    /// The file as messages name it.
    let name: String
    private let queue: DatabaseQueue
    private var tables: MirrorTables
    private let scope: DatabaseScope
    /// What was written since the last update began.
    private(set) var counts = MirrorCounts()
    private var statements: [String: Statement] = [:]
    private var texts: [UInt8] = []
    /// When the open transaction began.
    private var transactionStart = ContinuousClock.now
    /// How long a transaction stays open at most. A process that is killed loses at most this work.
    private static let longestTransaction = Duration.milliseconds(500)

    /// Opens a mirror, or makes one.
    ///
    /// - Parameters:
    ///   - url: The file; `nil` for a mirror in memory.
    ///   - origin: The database whose records the file has, or is to have.
    /// - Throws: ``MirrorError`` for a file that is not a mirror, or is one of another database.
    init(at url: URL?, origin: MirrorOrigin) throws {
        self.url = url
        scope = origin.scope
        let name = url?.relativePath ?? "the mirror in memory"
        self.name = name
        func check(_ found: MirrorOrigin) throws(MirrorError) {
            guard found != origin else { return }
            throw MirrorError(.otherDatabase, "\(name) is a mirror of \(found), and not of \(origin).")
        }
        if let url, let found = try Self.origin(ofFileAt: url) { try check(found) }
        do {
            var configuration = Self.waiting
            configuration.allowsUnsafeTransactions = true
            configuration.prepareDatabase { db in
                // For a new file. A record takes about 1 kB; a page of the usual size has space for four records.
                try db.execute(sql: "PRAGMA page_size = 16384")
                // A commit survives the end of the process. After a loss of power, the last pages are fetched again.
                try db.execute(sql: "PRAGMA synchronous = NORMAL")
                // 64 MB: record names are random and touch all pages of an index. A transaction that fits is written
                // once.
                try db.execute(sql: "PRAGMA cache_size = -64000")
                // A checkpoint writes the log and the file to the disk: after 64 MB of the log instead of 4 MB.
                try db.execute(sql: "PRAGMA wal_autocheckpoint = 4096")
            }
            queue = try DatabaseQueue(path: url?.path ?? ":memory:", configuration: configuration)
            tables = try queue.write { db in
                // Another process may have made the file since it was looked at.
                if try db.tableExists("mirror_state") {
                    try check(Self.origin(in: db, name))
                } else {
                    try Self.create(origin, db)
                }
                return try MirrorTables(db)
            }
        } catch {
            throw MirrorError.of(error, at: name)
        }
    }

    /// A configuration that waits for other processes.
    private static var waiting: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        return configuration
    }

    /// Begins an update: another process may have added tables and columns since the last one.
    func beginUpdate() throws {
        counts = MirrorCounts()
        try readTables()
    }

    private func readTables() throws {
        for table in tables.all { table.releaseStatements() }
        tables = try read { db in try MirrorTables(db) }
    }

    /// Commits the open transaction and closes the file. The write-ahead log becomes part of it.
    func close() throws {
        try commit()
        statements = [:]
        for table in tables.all { table.releaseStatements() }
        do { try queue.close() } catch { throw MirrorError.of(error, at: name) }
    }

    /// The database whose records a file has; `nil` where there is no file, or an empty file.
    ///
    /// - Throws: ``MirrorError`` for a file that is not a mirror.
    static func origin(ofFileAt url: URL) throws -> MirrorOrigin? {
        let name = url.relativePath
        guard FileManager.default.fileExists(atPath: url.path) else { return nil }
        guard let handle = FileHandle(forReadingAtPath: url.path) else { throw MirrorError.unreadable(name) }
        defer { try? handle.close() }
        do {
            // The header is checked first, since opening the file of another program for writing could change it. A
            // mirror is opened for writing: it may have an unfinished transaction to undo.
            guard let header = try? handle.read(upToCount: 72) ?? Data() else { throw MirrorError.unreadable(name) }
            if header.isEmpty { return nil }
            guard header.starts(with: Data("SQLite format 3\0".utf8)),
                header.suffix(4).reduce(0, { $0 << 8 | Int64($1) }) == applicationID
            else { throw MirrorError.notAMirror(name) }
            let queue = try DatabaseQueue(path: url.path, configuration: waiting)
            defer { try? queue.close() }
            return try queue.read { db in
                // The process that began to make the file was killed.
                try Int64.fetchOne(db, sql: "PRAGMA page_count") == 0 ? nil : try origin(in: db, name)
            }
        } catch {
            throw MirrorError.of(error, at: name)
        }
    }

    /// The database whose records an open file has.
    private static func origin(in db: Database, _ name: String) throws -> MirrorOrigin {
        guard let row = try Row.fetchOne(db, sql: "SELECT * FROM mirror_state"), let origin = MirrorOrigin(row)
        else { throw MirrorError.notAMirror(name) }
        let found: Int64 = row["format"]
        guard found == format else {
            let version = found < format ? "an older" : "a newer"
            throw MirrorError(.otherVersion, "\(name) was made by \(version) version of MistKit.")
        }
        return origin
    }

    private static func create(_ origin: MirrorOrigin, _ db: Database) throws {
        try db.execute(
            sql: """
                PRAGMA application_id = \(applicationID);
                CREATE TABLE mirror_state (
                    format INTEGER NOT NULL,
                    container TEXT NOT NULL,
                    environment TEXT NOT NULL,
                    database TEXT NOT NULL,
                    -- The user record name of the owner of a private database.
                    owner TEXT,
                    -- How far the changes of the database were followed.
                    token TEXT,
                    -- When a run was last complete.
                    updated TEXT
                );
                CREATE TABLE mirror_zone (
                    id INTEGER PRIMARY KEY,
                    zone TEXT NOT NULL,
                    -- Empty for a zone of the user.
                    zoneOwner TEXT NOT NULL,
                    token TEXT,
                    -- 1: the zone has changes that were not fetched.
                    isStale INTEGER NOT NULL DEFAULT 0,
                    generation INTEGER NOT NULL DEFAULT 0,
                    -- 1: it is read from the start again; at the end, records of an earlier generation are gone.
                    isRereading INTEGER NOT NULL DEFAULT 0,
                    UNIQUE (zone, zoneOwner)
                );
                CREATE TABLE mirror_query (
                    recordType TEXT PRIMARY KEY,
                    generation INTEGER NOT NULL DEFAULT 0,
                    -- Where the next page begins, while the type is being read.
                    marker TEXT,
                    isReading INTEGER NOT NULL DEFAULT 0
                );
                CREATE TABLE mirror_type (
                    id INTEGER PRIMARY KEY,
                    recordType TEXT NOT NULL UNIQUE,
                    tableName TEXT NOT NULL UNIQUE COLLATE NOCASE
                );
                CREATE TABLE mirror_column (
                    type INTEGER NOT NULL,
                    field TEXT NOT NULL,
                    columnName TEXT NOT NULL COLLATE NOCASE,
                    UNIQUE (type, field),
                    UNIQUE (type, columnName)
                );
                -- The records as the service sent them.
                CREATE TABLE mirror_record (
                    id INTEGER PRIMARY KEY,
                    recordName TEXT NOT NULL,
                    zone INTEGER NOT NULL,
                    type INTEGER NOT NULL,
                    -- The generation in which the record was last seen.
                    seen INTEGER NOT NULL,
                    record TEXT NOT NULL,
                    UNIQUE (recordName, zone)
                );
                """
        )
        try db.execute(
            sql: "INSERT INTO mirror_state (format, container, environment, database) VALUES (?, ?, ?, ?)",
            arguments: [format, origin.container, origin.environment.rawValue, origin.scope.rawValue]
        )
    }

    /// Reads outside of a transaction. What the open transaction has changed is seen.
    private func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        do {
            return try queue.writeWithoutTransaction(body)
        } catch {
            throw MirrorError.of(error, at: name)
        }
    }

    /// Runs a change in the open transaction, or in a new one.
    ///
    /// If the change throws, it is undone, with the tables and columns that it has added. Earlier changes of the
    /// transaction stay.
    private func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
        do {
            return try queue.writeWithoutTransaction { db in
                if !db.isInsideTransaction {
                    try db.beginTransaction(.immediate)
                    transactionStart = .now
                }
                let value = try Self.undoingFailure(of: body, db)
                if .now - transactionStart > Self.longestTransaction { try Self.commit(db) }
                return value
            }
        } catch {
            try? readTables()
            throw MirrorError.of(error, at: name)
        }
    }

    /// Runs a change in a savepoint of the open transaction.
    private static func undoingFailure<Value>(of change: (Database) throws -> Value, _ db: Database) throws -> Value {
        try db.execute(sql: "SAVEPOINT change")
        do {
            let value = try change(db)
            try db.execute(sql: "RELEASE change")
            return value
        } catch {
            // After some failures, such as a full disk, SQLite has ended the transaction itself.
            try? db.execute(sql: "ROLLBACK TO change")
            try? db.execute(sql: "RELEASE change")
            throw error
        }
    }

    /// Commits the transaction. One that cannot be committed is undone, because it would keep other processes out.
    private static func commit(_ db: Database) throws {
        do {
            try db.commit()
        } catch {
            if db.isInsideTransaction { try? db.rollback() }
            throw error
        }
    }

    /// Commits the open transaction, if there is one.
    func commit() throws {
        do {
            try queue.writeWithoutTransaction { db in if db.isInsideTransaction { try Self.commit(db) } }
        } catch {
            throw MirrorError.of(error, at: name)
        }
    }

    /// Runs a statement whose last parameter may be a record's JSON.
    private func run(_ sql: String, _ values: [ColumnValue], json: [UInt8]? = nil, _ db: Database) throws {
        let statement = try statements[sql] ?? db.makeStatement(sql: sql)
        statements[sql] = statement
        try statement.execute(values, json, texts: &texts)
    }

    /// The error for a file that another process changes.
    private func changedMeanwhile() -> MirrorError {
        MirrorError(.changedMeanwhile, "Another process changed \(name) while this one worked.")
    }
}

// MARK: - Zones

extension MirrorFile {
    /// The change token of the database; `nil` where there is none yet.
    func databaseToken() throws -> DatabaseChangeToken? {
        try read { db in try String.fetchOne(db, sql: "SELECT token FROM mirror_state") }
            .flatMap { DatabaseChangeToken($0) }
    }

    /// Notes which zones changed, and removes those that were deleted.
    ///
    /// - Parameters:
    ///   - page: The changes of the database.
    ///   - token: The token since which the changes were fetched; `nil` for the list of all zones.
    /// - Throws: ``MirrorError`` where the file cannot be written, or has the zones of another user.
    func apply(_ page: DatabaseChanges, since token: DatabaseChangeToken?) throws {
        try write { db in
            guard try String.fetchOne(db, sql: "SELECT token FROM mirror_state") == token?.text else {
                throw changedMeanwhile()
            }
            for zone in page.changedZones where zone.zoneID.zoneName != ZoneID.default.zoneName {
                try check(ownerOf: zone.zoneID, db)
                let known = try self.zone(zone.zoneID, db)
                // A zone whose newest token is in the file has nothing new.
                guard known.token == nil || known.token != zone.syncToken else { continue }
                try run("UPDATE mirror_zone SET isStale = 1 WHERE id = ?", [.integer(known.id)], db)
            }
            for zone in page.deletedZones { try remove(try self.zone(zone, db), db) }
            if token == nil {
                // A zone that is not in the list of all zones was deleted.
                let listed = Set(page.changedZones.map { $0.zoneID.inRequests(to: scope) })
                for row in try Row.fetchAll(db, sql: "SELECT * FROM mirror_zone") {
                    let zone = MirrorZone(row)
                    guard zone.name != ZoneID.default.zoneName, !listed.contains(zone.zoneID) else {
                        continue
                    }
                    try remove(zone, db)
                }
            }
            try run("UPDATE mirror_state SET token = ?", [.text(page.token.text)], db)
        }
    }

    /// Forgets the change token of the database.
    func forgetDatabaseToken() throws {
        try write { db in try run("UPDATE mirror_state SET token = NULL", [], db) }
    }

    /// The zones that have changes which were not fetched.
    func staleZones() throws -> [MirrorZone] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT * FROM mirror_zone WHERE isStale = 1 ORDER BY id").map { MirrorZone($0) }
        }
    }

    /// All zones of the file.
    func zones() throws -> [MirrorZone] {
        try read { db in try Row.fetchAll(db, sql: "SELECT * FROM mirror_zone").map { MirrorZone($0) } }
    }

    /// Marks a zone as one that has changes, and returns it.
    func staleZone(_ zoneID: ZoneID) throws -> MirrorZone {
        try write { db in
            let zone = try zone(zoneID, db)
            try run("UPDATE mirror_zone SET isStale = 1 WHERE id = ?", [.integer(zone.id)], db)
            return zone
        }
    }

    /// Saves pages of zones together with their tokens.
    ///
    /// - Parameter pages: The zones as they were when the pages were requested, and the pages. Zones without a page are
    ///   removed.
    /// - Throws: ``MirrorError`` where the file cannot be written, or has the zones of another user.
    func apply(_ pages: [(zone: MirrorZone, page: ZoneChanges?)]) throws {
        try write { db in
            for (zone, page) in pages {
                guard let page else {
                    try remove(zone, db)
                    continue
                }
                let current = try Row.fetchOne(
                    db.cachedStatement(sql: "SELECT * FROM mirror_zone WHERE id = ?"),
                    arguments: [zone.id]
                )
                guard let current = current.map({ MirrorZone($0) }), current.token == zone.token,
                    current.generation == zone.generation
                else { throw changedMeanwhile() }
                if let zoneID = page.changedRecords.first?.zoneID { try check(ownerOf: zoneID, db) }
                for record in page.changedRecords {
                    try save(record, in: zone, generation: zone.generation, db)
                }
                for record in page.deletedRecords {
                    if let name = record.recordName { try delete(name, in: zone, db) }
                }
                if !page.moreComing, zone.isRereading {
                    try removeUnseen(
                        "WHERE zone = ? AND seen < ?",
                        [.integer(zone.id), .integer(zone.generation)],
                        db
                    )
                }
                try run(
                    "UPDATE mirror_zone SET token = ?, isStale = ?, isRereading = isRereading AND ? WHERE id = ?",
                    [
                        .text(page.token.text), .integer(page.moreComing ? 1 : 0),
                        .integer(page.moreComing ? 1 : 0), .integer(zone.id),
                    ],
                    db
                )
            }
        }
    }

    /// Begins to read a zone from the start again.
    ///
    /// Its rows stay until everything is read. Then the rows of records that the zone no longer has are removed.
    ///
    /// - Returns: The zone as it is now.
    func beginRereading(_ zone: MirrorZone) throws -> MirrorZone {
        try write { db in
            try run(
                """
                UPDATE mirror_zone SET token = NULL, isStale = 1, generation = generation + 1, isRereading = 1
                WHERE id = ?
                """,
                [.integer(zone.id)],
                db
            )
            var zone = zone
            zone.token = nil
            zone.generation += 1
            zone.isRereading = true
            return zone
        }
    }

    /// The row of a zone, which is made where the file does not have it.
    private func zone(_ zoneID: ZoneID, _ db: Database) throws -> MirrorZone {
        let key: StatementArguments = [zoneID.zoneName, scope == .shared ? zoneID.owner ?? "" : ""]
        try db.execute(sql: "INSERT OR IGNORE INTO mirror_zone (zone, zoneOwner) VALUES (?, ?)", arguments: key)
        let sql = "SELECT * FROM mirror_zone WHERE zone = ? AND zoneOwner = ?"
        guard let row = try Row.fetchOne(db, sql: sql, arguments: key) else { throw changedMeanwhile() }
        return MirrorZone(row)
    }

    /// Checks that a zone belongs to the user whose database the file has. The first zone decides who that is.
    private func check(ownerOf zone: ZoneID, _ db: Database) throws {
        guard scope != .shared, let owner = zone.owner, owner != "_defaultOwner" else { return }
        guard let known = try String.fetchOne(db.cachedStatement(sql: "SELECT owner FROM mirror_state")) else {
            try run("UPDATE mirror_state SET owner = ?", [.text(owner)], db)
            return
        }
        guard known == owner else {
            throw MirrorError(.otherUser, "\(name) is a mirror of the private database of another user, \(known).")
        }
    }

    private func remove(_ zone: MirrorZone, _ db: Database) throws {
        try removeUnseen("WHERE zone = ?", [.integer(zone.id)], db)
        try run("DELETE FROM mirror_zone WHERE id = ?", [.integer(zone.id)], db)
    }
}

// MARK: - Queries

extension MirrorFile {
    /// The state of reading a record type by queries.
    struct QueryState {
        let zone: MirrorZone
        let recordType: String
        let generation: Int64
        /// Where the next page begins; `nil` at the start.
        var marker: String?
    }

    /// Continues to read a type where an earlier run was killed, or begins from the start.
    ///
    /// - Parameters:
    ///   - recordType: The type.
    ///   - isNew: Whether to begin from the start in any case.
    /// - Returns: The state, with the marker of the next page.
    /// - Throws: ``MirrorError`` where the file cannot be written.
    func beginQuery(of recordType: String, isNew: Bool = false) throws -> QueryState {
        try write { db in
            try run("INSERT OR IGNORE INTO mirror_query (recordType) VALUES (?)", [.text(recordType)], db)
            try run(
                """
                UPDATE mirror_query SET generation = generation + 1, marker = NULL, isReading = 1
                WHERE recordType = ? AND (isReading = 0 OR ?)
                """,
                [.text(recordType), .integer(isNew ? 1 : 0)],
                db
            )
            let row = try Row.fetchOne(
                db,
                sql: "SELECT * FROM mirror_query WHERE recordType = ?",
                arguments: [recordType]
            )
            return QueryState(
                zone: try zone(.default, db),
                recordType: recordType,
                generation: row?["generation"] ?? 0,
                marker: row?["marker"]
            )
        }
    }

    /// Saves a page of a query together with its continuation marker.
    func apply(_ page: RecordPage<Record>, of query: QueryState) throws {
        let records = try page.results.map { try $0.get() }
        try write { db in
            let current = try Row.fetchOne(
                db.cachedStatement(sql: "SELECT * FROM mirror_query WHERE recordType = ?"),
                arguments: [query.recordType]
            )
            guard let current, current["generation"] == query.generation, current["marker"] == query.marker,
                current["isReading"]
            else { throw changedMeanwhile() }
            for record in records { try save(record, in: query.zone, generation: query.generation, db) }
            if page.marker == nil, let table = try existingTable(of: query.recordType, db) {
                let arguments: [ColumnValue] = [
                    .integer(query.zone.id), .integer(table), .integer(query.generation),
                ]
                try removeUnseen("WHERE zone = ? AND type = ? AND seen < ?", arguments, db)
            }
            try run(
                "UPDATE mirror_query SET marker = ?, isReading = ? WHERE recordType = ?",
                [.init(page.marker), .integer(page.marker == nil ? 0 : 1), .text(query.recordType)],
                db
            )
        }
    }

    private func existingTable(of recordType: String, _ db: Database) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT id FROM mirror_type WHERE recordType = ?", arguments: [recordType])
    }
}

// MARK: - Records

extension MirrorFile {
    private func save(_ record: Record, in zone: MirrorZone, generation: Int64, _ db: Database) throws {
        guard let name = record.recordName else { return }
        let table = try tables.table(of: record.recordType ?? "unknown", db)
        // Most records fit.
        var writer = JSONWriter(capacity: 1024)
        writer.write(record)
        let json = try writer.finish()
        let values: [ColumnValue] = [.text(name), .integer(zone.id), .integer(table.id), .integer(generation)]
        try run(
            """
            INSERT INTO mirror_record (recordName, zone, type, seen, record) VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (recordName, zone) DO NOTHING
            """,
            values,
            json: json,
            db
        )
        var id = db.lastInsertedRowID
        if db.changesCount == 0 {
            try run(
                """
                UPDATE mirror_record SET seen = ?4 WHERE recordName = ?1 AND zone = ?2 AND type = ?3 AND record = ?5
                """,
                values,
                json: json,
                db
            )
            if db.changesCount > 0 { return }
            guard let known = try deleteRow(of: name, in: zone, db) else { throw changedMeanwhile() }
            id = known
            try run(
                "UPDATE mirror_record SET type = ?3, seen = ?4, record = ?5 WHERE recordName = ?1 AND zone = ?2",
                values,
                json: json,
                db
            )
        }
        try table.insert(record, id: id, in: zone, db)
        counts.written += 1
        counts.bytes += Int64(json.count)
    }

    private func delete(_ name: String, in zone: MirrorZone, _ db: Database) throws {
        guard let id = try deleteRow(of: name, in: zone, db) else { return }
        try run("DELETE FROM mirror_record WHERE id = ?", [.integer(id)], db)
        counts.deleted += 1
    }

    /// Removes the row from the table of the record's type.
    ///
    /// - Returns: The record's ID in the bookkeeping; `nil` for a record that the file does not have.
    private func deleteRow(of name: String, in zone: MirrorZone, _ db: Database) throws -> Int64? {
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT id, type FROM mirror_record WHERE recordName = ? AND zone = ?"),
            arguments: [name, zone.id]
        )
        guard let row else { return nil }
        guard let table = tables[row["type"]] else { throw changedMeanwhile() }
        let id: Int64 = row["id"]
        try table.delete(id, db)
        return id
    }

    /// Removes the records that an SQL condition selects, since the service no longer has them.
    private func removeUnseen(_ condition: String, _ arguments: [ColumnValue], _ db: Database) throws {
        for table in tables.all { try table.delete(condition + " AND type = \(table.id)", arguments, db) }
        let statement = try db.cachedStatement(sql: "DELETE FROM mirror_record \(condition)")
        try statement.bind(arguments)
        try statement.execute()
        counts.deleted += db.changesCount
    }
}

// MARK: - Whole files

extension MirrorFile {
    /// Ends a complete run: makes the indexes and saves the time.
    func finish(at time: Date) throws {
        try write { db in
            for table in tables.all { try table.createIndex(db) }
            try run("UPDATE mirror_state SET updated = ?", [MirrorColumn.value(of: time)], db)
        }
        try commit()
        // With a write-ahead log, readers and later runs do not wait for each other. The first run works without the
        // log, so that everything is written once. If a reader has the file open now, a later run changes the mode.
        queue.writeWithoutTransaction { db in _ = try? String.fetchOne(db, sql: "PRAGMA journal_mode = WAL") }
    }

    /// Writes a copy of the file beside it, named by the time: `copy-2026-11-23T020000Z.sqlite`. A second copy of the same
    /// second has the number 2 in its name.
    ///
    /// - Returns: The copy, which appears when it is complete.
    func writeCopy(at time: Date) throws -> URL {
        guard let url else { throw MirrorError(.unwritable, "A mirror in memory has no folder for a copy.") }
        let stamp = time.formatted(Date.ISO8601FormatStyle(timeSeparator: .omitted))
        let ending = url.pathExtension.isEmpty ? "" : "." + url.pathExtension
        let path = url.relativePath
        let stem = path.hasSuffix(ending) ? String(path.dropLast(ending.count)) : path
        func copy(_ suffix: String) -> URL {
            URL(fileURLWithPath: "\(stem)-\(stamp)\(suffix)\(ending)", relativeTo: url.baseURL)
        }
        var target = copy("")
        var number = 1
        while FileManager.default.fileExists(atPath: target.path) {
            number += 1
            target = copy("-\(number)")
        }
        let part = target.path + ".part"
        do {
            try? FileManager.default.removeItem(atPath: part)
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "VACUUM INTO ?", arguments: [part])
            }
            try FileManager.default.moveItem(atPath: part, toPath: target.path)
        } catch {
            throw MirrorError.of(error, at: name)
        }
        return target
    }
}
