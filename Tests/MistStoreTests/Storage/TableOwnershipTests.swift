import Foundation
import GRDB
import SQLiteTables
import Testing

@testable import MistStore

/// The rules of the owners of tables, read from the sources and from the documentation.
@Suite struct TableOwnershipTests {
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static var owners: [any TableOwner.Type] { SystemTables.owners + SystemTables.laterOwners }

    /// The tables with their owners.
    private static var tables: [(name: String, owner: any TableOwner.Type)] {
        owners.flatMap { owner in owner.tableNames.map { ($0, owner) } }
    }

    /// The lines of code in the sources of the store and of the lease, by file. Comments of Swift and of SQL are left
    /// out.
    private static func code() throws -> [String: [Substring]] {
        var files: [URL] = []
        for target in ["MistStore", "ProcessLeases"] {
            let folder = package.appendingPathComponent("Sources/\(target)")
            let found = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            files += found.compactMap { $0 as? URL }
        }
        var code: [String: [Substring]] = [:]
        for file in files where file.pathExtension == "swift" {
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            code[file.lastPathComponent, default: []] += lines.filter { line in
                let text = line.drop(while: \.isWhitespace)
                return !text.hasPrefix("//") && !text.hasPrefix("--")
            }
        }
        return code
    }

    @Test("SQL that names a table of the store stands in the file of its owner, and in no other")
    func tablesHaveOneOwner() throws {
        let code = try Self.code()
        #expect(Self.tables.count == 46)
        for table in Self.tables {
            let name = try Regex("\\b\(table.name)\\b")
            let files = code.filter { $0.value.contains { $0.contains(name) } }.keys.sorted()
            #expect(files.count == 1, "\(table.name) stands in \(files.joined(separator: ", "))")
            let owner = try Regex("(struct|class|enum) \(table.owner)\\b")
            #expect(files.allSatisfy { code[$0]?.contains { $0.contains(owner) } == true }, "\(table.name)")
        }
    }

    @Test("SQL has no values of enumerations as digits or texts: they are bound, or come from the enumeration")
    func enumerationsAreBound() throws {
        let written = /\b(state|phase|is_own|operation|condition|reason|scope) (=|<>|IS NOT) ('|[0-9])/
        let found = try Self.code().flatMap { file, lines in
            lines.filter { $0.contains(written) }.map { "\(file): \($0)" }
        }
        #expect(found.isEmpty)
    }

    @Test("Documentation/Store.md has every table with its owner and its columns")
    func tablesAreDocumented() throws {
        let page = Self.package.appendingPathComponent("Documentation/Store.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        let database = try DatabaseQueue()
        try database.write { db in
            try SystemTables.create(in: db, device: 1)
            try SystemTables.addLaterParts(to: db)
            for table in Self.tables {
                let row = lines.first { $0.hasPrefix("| `\(table.name)` | `\(table.owner)` |") }
                #expect(row != nil, "\(table.name)")
                for column in try db.columns(in: table.name) {
                    #expect(row?.contains("`\(column.name)`") == true, "\(table.name).\(column.name)")
                }
            }
        }
    }
}
