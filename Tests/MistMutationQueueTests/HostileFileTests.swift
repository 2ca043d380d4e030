import Foundation
import GRDB
import ProcessLeases
import SQLiteTables
import Synchronization
import Testing

@testable import MistMutationQueue

/// Files and machines that are not as a queue expects them.
struct HostileFileTests {
    let story: QueueStory

    init() throws { story = try QueueStory() }

    private func openingError() -> MutationQueueError.Code? {
        do {
            _ = try story.queue()
            return nil
        } catch {
            return (error as? MutationQueueError)?.code
        }
    }

    @Test func tablesOfAnotherProgramAreNotTouched() async throws {
        try await story.database.write { db in
            try db.execute(sql: "CREATE TABLE mist_mutation (gene TEXT); INSERT INTO mist_mutation VALUES ('BRCA1')")
        }
        #expect(openingError() == .otherTables)
        let tables = try await story.database.read { db in
            try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE name LIKE 'mist%' ORDER BY name")
        }
        #expect(tables == ["mist_mutation"])
    }

    @Test func tablesOfALaterVersionAreNotTouched() async throws {
        let queue = try story.queue()
        try story.add("a", "x", to: queue)
        try await story.database.write { try $0.execute(sql: "UPDATE mist_queue_format SET format = 2") }
        #expect(openingError() == .newerFormat)
        #expect(try story.left(in: queue) == ["a waiting 0"])
    }

    @Test func aFileThatIsNotADatabaseIsATypedError() throws {
        let path = story.folder.appending(path: "text.sqlite").path
        try Data("This is a text and no database, and it is long enough to be looked at. ".utf8).write(
            to: URL(fileURLWithPath: path)
        )
        var error: (any Error)?
        do {
            _ = try MutationQueue(DatabaseQueue(path: path), configuration: story.configuration, story.handlers)
        } catch let found { error = found }
        // GRDB looks at the file when it opens it, before the queue does.
        let code = (error as? DatabaseError)?.resultCode
        #expect(code == .SQLITE_NOTADB || (error as? MutationQueueError)?.code == .notADatabase)
    }

    @Test func aFullDiskLosesNothingAndIsATypedError() async throws {
        let queue = try story.queue { configuration, _ in configuration.attempts = 3 }
        try story.add("a", "x", to: queue)
        let pages = try await story.database.read { try Int.fetchOne($0, sql: "PRAGMA page_count") ?? 0 }
        let limit = { (pages: Int) in
            try await story.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(pages)") }
        }
        try await limit(pages)
        let error = await #expect(throws: MutationQueueError.self) {
            try await story.database.write { db in
                let text = String(repeating: "long", count: 10_000)
                _ = try queue.enqueue(Line(text: text), entity: "y", in: db)
            }
        }
        #expect(error?.code == .full)
        try await limit(1_000_000)
        #expect(try await queue.drain().sent == 1)
        #expect(story.service.done == ["a"])
    }

    @Test func aFullDiskInTheTransactionOfAnAnswerIsToldAndTheKeyIsUsedAgain() async throws {
        let queue = try story.queue { _, handlers in
            let send = handlers.send
            handlers.send = { line in
                let effects = try await send(line)
                guard line.attempt == 1 else { return effects }
                return MutationEffects { _ in throw DatabaseError(resultCode: .SQLITE_FULL) }
            }
        }
        try story.add("a", "x", to: queue)
        let error = await #expect(throws: MutationQueueError.self) { try await queue.drain() }
        #expect(error?.code == .full)
        #expect(try await queue.drain().sent == 1)
        #expect(story.service.done == ["a"])
        #expect(try story.rows == ["a"])
    }

    @Test func aTableThatAnotherProgramRemovedIsATypedError() async throws {
        let queue = try story.queue()
        try await story.database.write {
            try $0.execute(sql: "DROP TABLE mist_mutation_parent; DROP TABLE mist_mutation")
        }
        let error = await #expect(throws: MutationQueueError.self) { try await queue.drain() }
        #expect(error?.code == .damaged)
    }

    @Test func aClockThatWasSetBackDoesNotDelayTheQueueForYears() async throws {
        let queue = try story.queue()
        story.advance(86_400 * 365)
        story.service.fail("a", .lostRequest)
        story.service.fail("b", .offline)
        try story.add("a", "x", to: queue)
        try await queue.drain()
        try story.add("b", "y", to: queue)
        try await queue.drain()
        story.advance(-86_400 * 365)
        #expect(try await queue.drain().sent == 2)
        #expect(try await story.database.read { try queue.status(in: $0) }.age == .zero)
    }

    @Test func aMutationThatWasAddedWithAWrongClockDoesNotWaitForYears() async throws {
        let queue = try story.queue()
        story.advance(86_400 * 365)
        try story.add("a", "x", to: queue)
        story.advance(-86_400 * 365)
        #expect(try await queue.drain().sent == 1)
    }

    @Test func aCopyOfTheFileSendsUnderTheSameKeys() async throws {
        let queue = try story.queue()
        for number in 0..<3 { try story.add("\(number)", "x", to: queue) }
        let copy = try DatabasePool(path: story.folder.appending(path: "copy.sqlite").path)
        try story.database.backup(to: copy)
        try await queue.drain()
        let restored = try story.queue(copy)
        #expect(try await restored.drain().sent == 3)
        #expect(story.service.done == ["0", "1", "2"])
    }

    @Test func aDatabaseInMemoryHasAQueueToo() async throws {
        let database = try DatabaseQueue()
        let queue = try MutationQueue(
            database,
            configuration: story.configuration,
            MutationHandlers<Line> { [service = story.service] line in
                _ = try await service.send(line.mutation.text, key: line.id.rawValue)
                return .none
            }
        )
        try await database.write { db in _ = try queue.enqueue(Line(text: "a"), entity: "x", in: db) }
        #expect(try await queue.drain().sent == 1)
    }

    // MARK: - Processes

    @Test func twoProcessesSendEachMutationOnce() async throws {
        let other = try story.secondDatabase()
        let (first, second) = (try story.queue(), try story.queue(other))
        for number in 0..<30 { try story.add("\(number)", "\(number % 7)", to: first) }
        async let one = first.drain()
        async let two = second.drain()
        let sent = try await (one.sent, two.sent)
        #expect(sent.0 + sent.1 == 30)
        #expect(story.service.state.withLock { $0.requests.count } == 30)
        #expect(try story.rows.count == 30)
    }

    /// The steps of two processes, one of which is stopped during an attempt.
    @Test func theAnswerOfAProcessThatLostTheLeaseHasNoEffect() throws {
        let other = try story.secondDatabase()
        let (first, second) = (try story.queue(), try story.queue(other))
        try story.add("a", "x", to: first)
        let now = MachineTime(story.time.withLock { $0 })
        let step = try story.database.write { db in
            try first.engine.step(db, ends: [], underWay: [], isForProgram: true, at: now)
        }
        let attempt = try #require(step.noted.first)
        var look = 0
        while try other.read({ try second.engine.lease.look($0, at: .milliseconds(look)).action }) == .wait {
            look += 100
            try #require(look < 10_000)
        }
        #expect(look >= 3500)
        let taken = try other.write { db in
            try second.engine.step(db, ends: [], underWay: [], isForProgram: true, at: now)
        }
        #expect(taken.noted.map(\.mutation.id) == [attempt.mutation.id])
        #expect(taken.noted.map(\.mutation.attempt) == [2])
        let effects = MutationEffects { db in try db.execute(sql: "INSERT INTO line (text) VALUES ('a')") }
        let late = try story.database.write { db in
            try first.engine.step(db, ends: [(attempt, .answer(effects))], underWay: [], isForProgram: true, at: now)
        }
        #expect(late.next == .otherProcess)
        #expect(try story.rows == [])
        _ = try other.write { db in
            try second.engine.step(
                db,
                ends: [(taken.noted[0], .answer(effects))],
                underWay: [],
                isForProgram: true,
                at: now
            )
        }
        #expect(try story.rows == ["a"])
    }
}

/// The rules of the owners of tables, read from the sources and from the documentation.
struct QueueTableTests {
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test func sqlThatNamesATableStandsInTheFileOfItsOwnerAlone() throws {
        let sources = Self.package.appending(path: "Sources/MistMutationQueue")
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var code: [String: String] = [:]
        for case let file as URL in files where file.pathExtension == "swift" {
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            code[file.lastPathComponent] = lines.filter { !$0.drop(while: \.isWhitespace).hasPrefix("//") }
                .joined(separator: "\n")
        }
        #expect(QueueFile.owners.flatMap { $0.tableNames }.count == 7)
        // Words of SQL before the name tell a statement from a name that a program observes.
        for owner in QueueFile.owners {
            for table in owner.tableNames {
                let statement = try Regex("(FROM|INTO|UPDATE|JOIN|TABLE IF NOT EXISTS) \(table)\\b")
                let found = code.filter { $0.value.contains(statement) }.keys.sorted()
                #expect(found == ["\(owner).swift"], "\(table)")
            }
        }
    }

    @Test func thePageHasEveryTableWithItsColumns() throws {
        let page = Self.package.appending(path: "Documentation/MutationQueue.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        let database = try DatabaseQueue()
        try database.write { db in
            for owner in QueueFile.owners {
                try owner.create(in: db)
                for table in owner.tableNames {
                    let row = lines.first { $0.hasPrefix("| `\(table)` | `\(owner)` |") }
                    #expect(row != nil, "\(table)")
                    for column in try db.columns(in: table) {
                        #expect(row?.contains("`\(column.name)`") == true, "\(table).\(column.name)")
                    }
                }
            }
        }
    }
}
