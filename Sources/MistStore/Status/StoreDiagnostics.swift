import CloudKitModel
package import GRDB
import MistKit
import ProcessLeases
package import SQLiteTables

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A report about one file of a store, for support: what a person needs who does not see the records.
///
/// It has no values of fields, no names of records, zones or users, no tokens and no addresses. Messages of the service
/// may quote any of them, so only the codes in them are kept.
package struct StoreDiagnostics {
    private let db: Database
    private let scopes: [DatabaseScope]
    private let now: MachineTime
    private let limit: MassDeletionLimit?
    private var lines: [String] = []

    /// Reads the report.
    ///
    /// - Parameters:
    ///   - name: The name of the file.
    ///   - db: A connection. Nothing is written.
    ///   - scopes: The scopes of the file.
    ///   - now: The machine's time.
    ///   - limit: The limit of deletes.
    /// - Returns: The lines.
    /// - Throws: A `DatabaseError` when the file fails.
    package static func lines(
        of name: String,
        _ db: Database,
        scopes: [DatabaseScope],
        at now: MachineTime,
        limit: MassDeletionLimit?
    ) throws -> [String] {
        var report = StoreDiagnostics(db: db, scopes: scopes, now: now, limit: limit)
        report.lines.append(name)
        try report.addFile()
        try report.addTypes()
        for scope in scopes { try report.add(scope) }
        try report.addTables()
        return report.lines
    }

    private mutating func add(_ title: String, _ text: String) { lines.append("  \(title): \(text)") }

    // MARK: The file

    private mutating func addFile() throws {
        let state = FileState(db)
        add(
            "format",
            "\(try FileState.format(db) ?? 0), SQLite \(try String.fetchOne(db, sql: "SELECT sqlite_version()") ?? "")"
        )
        let size = try pragma("page_count") * pragma("page_size")
        add(
            "size",
            "\(Self.counted(size, "byte")), of which \(try pragma("freelist_count") * pragma("page_size")) are free"
        )
        var clock = ["offset \(try state.clockOffset) ms"]
        let confirmed = try state.offsetConfirmed
        if confirmed > 0 { clock.append("confirmed \(age(of: confirmed, offset: try state.clockOffset)) ago") }
        if try state.dateBias != 0 { clock.append("stamps differ from the dates by \(try state.dateBias) ms") }
        add("clock of the service", clock.joined(separator: ", "))
        let owner = try state.owner
        add("owner", owner == nil ? "none" : "known")
        if try state.visit != nil { add("signed in", "another user than the owner") }
        if let copy = try state.copyNoticed { add("copy of the file noticed", "\(age(of: copy)) ago") }
        let lease = try Leases(name: "sync", db: db).row()
        let process = lease.holder == nil ? nil : lease.process
        let holder = process.map { "held by \($0)" } ?? "free"
        if try Seals(db: db).isSealed { add("sealed", "yes") }
        add("lease", "\(holder), epoch \(lease.epoch), last completed epoch \(lease.done)")
    }

    private func pragma(_ name: String) throws -> Int64 { try Int64.fetchOne(db, sql: "PRAGMA \(name)") ?? 0 }

    // MARK: The schema

    private mutating func addTypes() throws {
        let types = RecordTypes(db: db)
        for table in try types.tables(nil) {
            let fields = table.fields.map { field in
                let roles = [field.schema.isParent ? "parent" : nil, field.successor == nil ? nil : "renamed"]
                    .compactMap(\.self)
                return "\(field.name) \(field.type.rawValue)"
                    + (roles.isEmpty ? "" : " (\(roles.joined(separator: ", ")))")
            }
            add("type \(table.recordType)", fields.joined(separator: ", "))
            if let field = try types.missingField(of: table.id) {
                add("type \(table.recordType) waits", "the service lacks \(field.isEmpty ? "the type" : field)")
            }
        }
    }

    // MARK: A scope

    private mutating func add(_ scope: DatabaseScope) throws {
        lines.append("  \(scope)")
        let state = try ScopeState(scope: scope, db: db).row()
        addToScope("condition", state.condition.map { "\($0)" } ?? "none")
        if let detail = state.detail { addToScope("message", Self.codes(in: detail)) }
        if state.failures > 0 { addToScope("failures in a row", "\(state.failures)") }
        if let end = state.endOfPushes(at: now) { addToScope("waits", "\(Self.text(end - now)) more") }
        let deletions = try MassDeletionGuard(limit: limit, scope: scope, now: now, db: db).waiting()
        if let deletions { addToScope("deletes that wait for a permission", "\(deletions.deletes)") }
        try addZones(scope)
        try addPending(scope)
        try addVerification(scope)
        let log = try RecoveryEntries(scope: scope, db: db, sealer: nil).summary().map {
            "\($0.entries) \(Self.word($0.reason)) (\(Self.counted($0.bytes, "byte")), the first \(age(of: $0.since)) ago)"
        }
        if !log.isEmpty { addToScope("recovery log", log.joined(separator: ", ")) }
    }

    private mutating func addToScope(_ title: String, _ text: String) { lines.append("    \(title): \(text)") }

    private mutating func addZones(_ scope: DatabaseScope) throws {
        let zones = Zones(scope: scope, db: db)
        let all = try zones.all()
        let counts: [(String, Int)] = [
            ("existing", all.count { $0.state == .exists }), ("not created", all.count { $0.state == .unknown }),
            ("gone", all.count { $0.state == .gone }), ("to be fetched", all.count(where: \.isStale)),
            ("with operations of unknown outcome", all.count(where: \.isUncertain)),
            ("fetched from the start", all.count(where: \.isRefetching)),
        ]
        addToScope("zones", counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }.joined(separator: ", "))
        for failure in try zones.allFailures() {
            addToScope(
                "a zone cannot be fetched",
                "\(Self.codes(in: failure.message)), \(Self.counted(failure.failures, "time"))"
            )
        }
        guard scope == .public else { return }
        for query in try FollowedQueries(db: db).all() {
            addToScope(
                "followed query of \(query.query.recordType)",
                "\(Self.counted(query.query.filters.count, "filter")), \(query.phase), "
                    + "unchanged for \(Self.counted(query.idlePasses, "pass", "passes"))"
            )
        }
    }

    private mutating func addPending(_ scope: DatabaseScope) throws {
        let known = KnownVersions(db: db, sealer: nil)
        addToScope("records of the service", "\(try known.count(in: scope))")
        let edits = PendingEdits(db: db)
        let edited = try edits.rowCount()
        if edited > 0 {
            let oldest = try edits.oldest().map { ", the oldest edit \(age(of: $0)) old" } ?? ""
            addToScope("edited records", "\(edited)\(oldest)")
        }
        let deletes = try Tombstones(db: db).count(in: scope)
        if deletes > 0 { addToScope("deletes", "\(deletes)") }
        let conflicts = try known.conflictingCount(in: scope)
        if conflicts > 0 { addToScope("records to be looked up", "\(conflicts)") }
        for (kind, operations) in try SentOperations(db: db, sealer: nil).summary(of: scope) {
            addToScope("sent, without a known outcome", "\(operations) \(Self.word(kind))")
        }
        if let request = try Requests(scope: scope, db: db).underWay() {
            addToScope("request under way", "\(request.kind), sent \(age(of: request.sent)) ago")
        }
        for (reason, records, since) in try Parking(scope: scope, db: db, sealer: nil).summary() {
            addToScope("parked", "\(records) \(Self.word(reason)), the first \(age(of: since)) ago")
        }
        for (message, records, attempts) in try UndeliveredRecords(scope: scope, db: db).summary() {
            addToScope(
                "not delivered",
                "\(records) \(Self.codes(in: message)), up to \(Self.counted(attempts, "time"))"
            )
        }
    }

    private mutating func addVerification(_ scope: DatabaseScope) throws {
        let verifications = Verifications(scope: scope, db: db)
        guard let latest = try verifications.latest() else { return }
        let progress = try verifications.progress()
        let differences = try verifications.reports().map(\.differences.count).reduce(0, +)
        let end = latest.ended.map { "ended \(age(of: $0)) ago" } ?? "under way"
        addToScope(
            "verification",
            "\(latest.mode), \(latest.depth), \(end), \(progress.comparedZones) of "
                + "\(Self.counted(progress.zones, "zone")), \(Self.counted(differences, "difference"))"
        )
    }

    // MARK: Tables

    /// The numbers of rows. Tables of other programs have names that say something about them.
    private mutating func addTables() throws {
        let names = try String.fetchAll(
            db,
            sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
        )
        let types = Set(try RecordTypes(db: db).all().map(\.name))
        let sizes = (try? tableSizes()) ?? [:]
        var others = 0
        for name in names {
            guard types.contains(name) || name.hasPrefix("mist_") else {
                others += 1
                continue
            }
            let rows = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(quoted(name))") ?? 0
            guard rows > 0 else { continue }
            add(
                "table \(name)",
                Self.counted(rows, "row") + (sizes[name].map { ", " + Self.counted($0, "byte") } ?? "")
            )
        }
        if others > 0 { add("tables of other programs", "\(others)") }
    }

    /// The bytes of tables. Not every SQLite can tell.
    private func tableSizes() throws -> [String: Int64] {
        let rows = try Row.fetchAll(db, sql: "SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name")
        return Dictionary(rows.map { ($0["name"], $0["bytes"]) }, uniquingKeysWith: { $1 })
    }

    // MARK: Text

    private func age(of time: MachineTime) -> String { Self.text(now - time) }

    private func age(of time: ServiceTime, offset: Int64) -> String {
        Self.text(now.service(offset: offset).rawValue - time.rawValue)
    }

    /// A number of milliseconds, in the largest unit of which it has two.
    static func text(_ milliseconds: Int64) -> String {
        let seconds = milliseconds / 1000
        let units: [(seconds: Int64, name: String)] = [(86_400, "days"), (3600, "hours"), (60, "minutes")]
        if let unit = units.first(where: { seconds >= 2 * $0.seconds }) {
            return "\(seconds / unit.seconds) \(unit.name)"
        }
        return counted(seconds, "second")
    }

    /// A number with its noun, in the singular or in the plural.
    static func counted(_ number: some BinaryInteger, _ noun: String, _ plural: String? = nil) -> String {
        "\(number) \(number == 1 ? noun : plural ?? noun + "s")"
    }

    private static let knownCodes = Set(ServerErrorCode.allCases.map(\.rawValue))

    /// The codes in a message: words of capital letters and underscores, such as `INTERNAL_ERROR`, that the service's
    /// errors have.
    static func codes(in message: String) -> String {
        let words = message.split { !($0 == "_" || ($0.isASCII && $0.isLetter)) }
        let codes = words.map(String.init).filter { Self.knownCodes.contains($0) }
        return codes.isEmpty ? "(\(message.count) characters)" : codes.joined(separator: " ")
    }

    /// A name of a reason, as this library or the service has it.
    private static func word(_ name: String) -> String {
        let isWord = name.count <= 40 && name.allSatisfy { $0 == "_" || ($0.isASCII && $0.isLetter) }
        return isWord ? name : "of a reason with \(name.count) characters"
    }
}

// MARK: - The store of another program

extension StoreDiagnostics {
    /// Reads the report about a store without the types of its program. The program may run meanwhile.
    ///
    /// It has all files of private records. Those of further users are numbered, since their paths have the names of the
    /// users.
    ///
    /// - Parameters:
    ///   - folder: The folder of the store.
    ///   - user: The user record name of the user whose file is read; `nil` for all files.
    ///   - now: The present time.
    /// - Returns: The text.
    /// - Throws: A ``StoreError``: `notFound` for a user without a file, or a code about the files.
    package static func text(ofStoreAt folder: URL, user: String? = nil, at now: Date) throws -> String {
        let all = try StoreUser.all(ofStoreAt: folder)
        let further = all.filter { $0.file.user != nil }.map(\.path).sorted()
        let chosen = all.filter { user == nil || $0.name == user }
        guard user == nil || !chosen.isEmpty else {
            throw StoreError(.notFound, "The store has no records of the user.")
        }
        var lines = ["A report of \(now.formatted(.iso8601))"]
        for file in chosen {
            let number = further.firstIndex(of: file.path).map { "\($0 + 1) of \(further.count)" }
            let name = number.map { "\(UserFile.folder)/, file \($0)" } ?? file.path
            lines += try report(
                of: name + (file.isOpen ? " (open)" : " (not open)"),
                at: folder.appendingPathComponent(file.path).path,
                .private,
                now
            )
        }
        let path = folder.appendingPathComponent(StoreFolder.publicPath).path
        lines += try report(of: StoreFolder.publicPath, at: path, .public, now)
        return lines.joined(separator: "\n")
    }

    private static func report(of name: String, at path: String, _ scope: DatabaseScope, _ now: Date) throws -> [String]
    {
        try StoreError.naming(path) {
            try StoreFile.readPresentFormat(atPath: path) { db in
                try Self.lines(of: name, db, scopes: [scope], at: now.machineTime, limit: MassDeletionLimit())
            }
        }
    }
}

extension MistStore {
    /// A report for support: one text that a user can send.
    ///
    /// ```swift
    /// print(try await store.diagnostics())
    /// // MistStore on Linux, 2026-11-27T15:00:00Z
    /// // user.sqlite
    /// //   format: 5, SQLite 3.40.1
    /// //   size: 135168 bytes, of which 0 are free
    /// //   …
    /// //   private
    /// //     condition: offline
    /// //     edited records: 12, the oldest edit 3 hours old
    /// ```
    ///
    /// It has versions, the record types with their fields, and for each database its condition, counts, how long
    /// something waits, and the codes of errors; the sizes of files and tables; and which process synchronises.
    ///
    /// It has no values of fields, no names of records, zones or users, no credentials, no tokens and no addresses. Of
    /// the messages of the service it has only the codes, since they may quote values.
    ///
    /// - Returns: The text. Its form may change with any version.
    /// - Throws: A ``StoreError`` when a file fails.
    public func diagnostics() async throws -> String {
        let now = configuration.clock()
        var lines = ["MistStore on \(Self.platform), \(now.formatted(.iso8601))"]
        lines.append(service == nil ? "opened without a service" : "opened with a service")
        for (scope, database) in [(DatabaseScope.private, privateDatabase), (.public, publicDatabase)] {
            let name = BackupFile.name(of: scope)
            let limit = configuration.massDeletionLimit
            lines += try await database.read { reader in
                try StoreDiagnostics.lines(
                    of: name,
                    reader.db,
                    scopes: database.file.scopes,
                    at: now.machineTime,
                    limit: limit
                )
            }
        }
        return lines.joined(separator: "\n")
    }

    /// The operating system, with its version.
    private static var platform: String { ProcessInfo.processInfo.operatingSystemVersionString }
}
