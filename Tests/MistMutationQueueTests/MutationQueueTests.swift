import Foundation
import GRDB
import MistMutationQueue
import Synchronization
import Testing

struct MutationQueueTests {
    let story: QueueStory

    init() throws { story = try QueueStory() }

    // MARK: - Sending

    @Test func aMutationIsRemovedTogetherWithTheEffectsOfItsAnswer() async throws {
        let queue = try story.queue()
        try story.add("a", "x", to: queue)
        let drain = try await queue.drain()
        #expect(drain.sent == 1)
        #expect(drain.status.isEmpty)
        #expect(story.service.done == ["a"])
        #expect(try story.rows == ["a"])
        #expect(try story.left(in: queue) == [])
    }

    @Test func aTransactionThatIsRolledBackAddsNothing() async throws {
        let queue = try story.queue()
        try await story.database.write { db in
            try db.inSavepoint {
                try queue.enqueue(Line(text: "a"), entity: "x", in: db)
                return .rollback
            }
        }
        try await queue.drain()
        #expect(story.service.done == [])
        #expect(try story.left(in: queue) == [])
    }

    @Test func mutationsOfOneEntityAreSentInTheirOrder() async throws {
        let queue = try story.queue()
        for number in 0..<20 { try story.add("\(number)", "x", to: queue) }
        #expect(try await queue.drain().sent == 20)
        #expect(story.service.done == (0..<20).map(String.init))
        #expect(story.service.state.withLock { $0.mostUnderWay } == 1)
    }

    @Test func mutationsOfDifferentEntitiesAreSentAtATimeUpToTheLimit() async throws {
        let gate = Gate(4)
        let queue = try story.queue { _, handlers in
            handlers.send = { _ in
                await gate.pass()
                return .none
            }
        }
        for number in 0..<12 { try story.add("\(number)", "\(number)", to: queue) }
        #expect(try await queue.drain().sent == 12)
        #expect(gate.most == 4)
    }

    @Test func aRetryKeepsTheOrderOfItsEntityAndTheKey() async throws {
        let queue = try story.queue()
        story.service.fail("a", .lostReply, .lostRequest)
        try story.add("a", "x", to: queue)
        try story.add("b", "x", to: queue)
        try story.add("c", "y", to: queue)
        #expect(try await queue.drain().sent == 1)
        #expect(try story.left(in: queue) == ["a waiting 1: lostReply", "b waiting blocked 0"])
        story.advance(1)
        #expect(try await queue.drain().postponed == 1)
        story.advance(1)
        #expect(try await queue.drain().sent == 2)
        // The first reply to "a" was lost, and the service knew its key.
        #expect(story.service.done == ["a", "c", "b"] || story.service.done == ["c", "a", "b"])
        #expect(try story.rows == ["a", "b", "c"])
    }

    @Test func theServiceNamesTheTimeOfTheNextAttempt() async throws {
        let queue = try story.queue()
        story.service.fail("a", .throttled)
        try story.add("a", "x", to: queue)
        let drain = try await queue.drain()
        #expect(drain.status.nextAttempt == story.time.withLock { $0 + 60.5 })
        story.advance(60)
        #expect(try await queue.drain().sent == 0)
        story.advance(1)
        #expect(try await queue.drain().sent == 1)
    }

    @Test func effectsThatFailLeaveTheMutationAndNothingElse() async throws {
        let queue = try story.queue()
        try await story.database.write { try $0.execute(sql: "INSERT INTO line (text) VALUES ('a')") }
        try story.add("a", "x", to: queue)
        #expect(try await queue.drain().postponed == 1)
        #expect(try story.left(in: queue).first?.hasPrefix("a waiting 1: The effects failed: SQLite error 19") == true)
        try await story.database.write { try $0.execute(sql: "DELETE FROM line") }
        story.advance(1)
        #expect(try await queue.drain().sent == 1)
        #expect(story.service.done == ["a"])
        #expect(try story.rows == ["a"])
    }

    @Test func anAttemptThatNeverEndsIsGivenUpAtItsDeadline() async throws {
        let queue = try story.queue { configuration, handlers in
            configuration.deadline = .milliseconds(30)
            configuration.attempts = 1
            handlers.send = { _ in
                // It obeys no cancellation.
                await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
                return .none
            }
        }
        try story.add("a", "x", to: queue)
        #expect(try await queue.drain().failed == 1)
        #expect(try story.left(in: queue) == ["a failed 1: The attempt did not end before its deadline."])
    }

    @Test func cancellingADrainGivesItsAttemptsBack() async throws {
        let began = Gate(1)
        let queue = try story.queue { _, handlers in
            handlers.send = { _ in
                began.open()
                try await Task.sleep(for: .seconds(3600))
                return .none
            }
        }
        try story.add("a", "x", to: queue)
        let task = Task { try await queue.drain() }
        await began.opened()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try story.left(in: queue) == ["a waiting 0"])
        let status = try await story.database.read { try queue.status(in: $0) }
        #expect(status.sender == nil)
    }

    @Test func runSendsWhatIsAddedWhileItRuns() async throws {
        let queue = try story.queue()
        let task = Task { try await queue.run() }
        try story.add("a", "x", to: queue)
        // Another connection, as another process has one: its commits are found by looking.
        let other = try story.queue(story.secondDatabase())
        _ = try await other.statusUpdates().first { $0.isEmpty }
        try await story.secondDatabase().write { db in
            _ = try other.enqueue(Line(text: "b"), entity: "y", id: MutationID(rawValue: "other"), in: db)
        }
        for try await status in queue.statusUpdates() where status.isEmpty { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(story.service.done == ["a", "b"])
    }

    // MARK: - Dependencies

    @Test func aMutationWaitsForThoseThatItDependsOn() async throws {
        let queue = try story.queue()
        story.service.fail("upload", .lostRequest)
        let upload = try story.add("upload", "picture", to: queue)
        try story.add("taste", "tasting", after: [upload], to: queue)
        #expect(try await queue.drain().sent == 0)
        #expect(try story.left(in: queue) == ["upload waiting 1: lostRequest", "taste waiting blocked 0"])
        story.advance(1)
        #expect(try await queue.drain().sent == 2)
        #expect(story.service.done == ["upload", "taste"])
        // One that was done is not waited for.
        try story.add("late", "other", after: [upload], to: queue)
        #expect(try await queue.drain().sent == 1)
    }

    @Test func aDiscardedMutationTakesItsDependentsAlong() async throws {
        let queue = try story.queue()
        story.service.fail("upload", .refused)
        let upload = try story.add("upload", "picture", to: queue)
        let taste = try story.add("taste", "tasting", after: [upload], to: queue)
        try story.add("toast", "toast", after: [taste], to: queue)
        try story.add("other", "picture", to: queue)
        #expect(try await queue.drain().failed == 1)
        let compensated = Mutex<[String]>([])
        let removed = try await story.database.write { db in
            try queue.discard(upload, in: db) { mutation in
                compensated.withLock { $0.append("\(mutation.mutation?.text ?? "") \(mutation.hasBeenSent)") }
                try db.execute(sql: "INSERT INTO line (text) VALUES (?)", arguments: ["no \(mutation.entity)"])
            }
        }
        #expect(removed.map(\.rawValue) == ["key-3", "key-2", "key-1"])
        #expect(compensated.withLock { $0 } == ["toast false", "taste false", "upload true"])
        #expect(try story.left(in: queue) == ["other waiting 0"])
        #expect(try story.rows == ["no picture", "no tasting", "no toast"])
        #expect(throws: MutationQueueError.self) { try story.add("late", "y", after: [taste], to: queue) }
        #expect(try await queue.drain().sent == 1)
    }

    @Test func aCompensationThatFailsDiscardsNothing() async throws {
        let queue = try story.queue()
        let id = try story.add("a", "x", to: queue)
        struct Failure: Error {}
        try await story.database.write { db in
            _ = #expect(throws: Failure.self) { try queue.discard(id, in: db) { _ in throw Failure() } }
        }
        #expect(try story.left(in: queue) == ["a waiting 0"])
    }

    @Test func whatIsBeingSentCannotBeDiscarded() async throws {
        let (began, goes) = (Gate(1), Gate(1))
        let queue = try story.queue { _, handlers in
            handlers.send = { _ in
                began.open()
                await goes.opened()
                return .none
            }
        }
        let id = try story.add("a", "x", to: queue)
        async let drain = queue.drain()
        await began.opened()
        let error = await #expect(throws: MutationQueueError.self) {
            try await story.database.write { db in _ = try queue.discard(id, in: db) }
        }
        #expect(error?.code == .underWay)
        goes.open()
        #expect(try await drain.sent == 1)
    }

    // MARK: - Joining

    @Test func mutationsThatWereNotSentAreJoined() async throws {
        let queue = try story.queue { _, handlers in
            handlers.join = { earlier, later in
                if later.text == "un\(earlier.text)" { return .annihilated }
                return earlier.text.hasPrefix("set") && later.text.hasPrefix("set") ? .replaced(by: later) : .separate
            }
        }
        let results = try await story.database.write { db in
            try [("set 1", "x"), ("set 2", "x"), ("toast", "y"), ("untoast", "y"), ("toast", "z")].map { text, entity in
                try queue.enqueue(Line(text: text), entity: entity, in: db)
            }
        }
        let key = { (number: Int) in MutationID(rawValue: "key-\(number)") }
        #expect(results == [.added(key(1)), .joined(key(1)), .added(key(2)), .annihilated(key(2)), .added(key(3))])
        #expect(try story.left(in: queue) == ["set 2 waiting 0", "toast waiting 0"])
        // One that was sent may be done: its opposite is sent, too.
        story.service.fail("toast", .lostReply)
        try await queue.drain()
        try story.add("untoast", "z", to: queue)
        story.advance(1)
        try await queue.drain()
        #expect(story.service.done.sorted() == ["set 2", "toast", "untoast"])
    }

    @Test func aMutationThatAnotherOneDependsOnIsNotJoined() async throws {
        let queue = try story.queue { _, handlers in handlers.join = { _, _ in .annihilated } }
        let first = try story.add("a", "x", to: queue)
        try story.add("b", "y", after: [first], to: queue)
        try story.add("c", "x", to: queue)
        #expect(try await queue.drain().sent == 3)
    }

    // MARK: - Identifiers

    @Test func anIdentifierOfTheServiceIsAdoptedEverywhere() async throws {
        let queue = try story.queue { _, handlers in
            let send = handlers.send
            handlers.send = { line in
                let effects = try await send(line)
                return line.mutation.text == "make" ? effects.adopt("local-1", as: "4711") : effects
            }
        }
        try await story.database.write { db in
            try queue.enqueue(Line(text: "make"), entity: "local-1", in: db)
            try queue.enqueue(Line(text: "add", list: "local-1"), entity: "local-1", in: db)
            try queue.enqueue(
                Line(text: "toast", list: "local-1"),
                entity: "me",
                after: [MutationID(rawValue: "key-2")],
                in: db
            )
        }
        story.service.fail("add in 4711", .lostRequest)
        #expect(try await queue.drain().sent == 1)
        let waiting = try await story.database.read { try queue.mutations($0) }
        #expect(waiting.map(\.mutation?.list) == ["4711", "4711"])
        #expect(waiting.map(\.entity) == ["4711", "me"])
        // A screen that still shows the former identifier, and one that shows the new one: the order is kept.
        try await story.database.write { db in
            try queue.enqueue(Line(text: "new", list: "4711"), entity: "4711", in: db)
            try queue.enqueue(Line(text: "old", list: "local-1"), entity: "local-1", in: db)
        }
        story.advance(1)
        #expect(try await queue.drain().sent == 4)
        let done = story.service.done
        #expect(done.filter { !$0.hasPrefix("toast") } == ["make", "add in 4711", "new in 4711", "old in 4711"])
        #expect(done.contains("toast in 4711"))
    }

    // MARK: - Failures

    @Test func theLastAttemptIsKeptAndReportedOnce() async throws {
        let queue = try story.queue { configuration, _ in configuration.attempts = 2 }
        story.service.fail("a", .lostRequest, .lostRequest)
        try story.add("a", "x", to: queue)
        try story.add("b", "x", to: queue)
        try await queue.drain()
        story.advance(1)
        #expect(try await queue.drain().failed == 1)
        #expect(try story.left(in: queue) == ["a failed 2: lostRequest", "b waiting blocked 0"])
        let failure = try await queue.failures().first { _ in true }
        #expect(failure?.id == MutationID(rawValue: "key-1"))
        #expect(failure?.entity == "x")
        #expect(failure?.state == .failed)
        #expect(failure?.attempts == 2)
        #expect(failure?.message == "lostRequest")
        // Another one that fails is the next in the sequence; the first one does not come again.
        story.service.fail("c", .refused)
        try story.add("c", "z", to: queue)
        try await queue.drain()
        #expect(try await queue.failures().first { _ in true }?.id.rawValue == "key-3")
        #expect(try await story.database.write { try queue.retryAll(in: $0) } == 2)
        #expect(try await queue.drain().sent == 3)
        #expect(story.service.done.filter { $0 != "c" } == ["a", "b"])
    }

    @Test func aMutationThatFailsAgainIsReportedAgain() async throws {
        let queue = try story.queue()
        story.service.fail("a", .refused, .refused)
        let id = try story.add("a", "x", to: queue)
        try await queue.drain()
        #expect(try await queue.failures().first { _ in true }?.id == id)
        try await story.database.write { try queue.retry(id, in: $0) }
        try await queue.drain()
        #expect(try await queue.failures().first { _ in true }?.id == id)
        #expect(throws: MutationQueueError.self) {
            try story.database.write { try queue.retry(MutationID(rawValue: "unknown"), in: $0) }
        }
    }

    // MARK: - Pauses

    @Test func aPauseHoldsForAllAndSaysWhy() async throws {
        let queue = try story.queue()
        story.service.fail("a", .offline)
        for (text, entity) in [("a", "x"), ("b", "x"), ("c", "z")] { try story.add(text, entity, to: queue) }
        let drain = try await queue.drain()
        #expect(drain.status.pause?.reason == .offline)
        #expect(drain.status.pause?.until == story.time.withLock { $0 + 30 })
        #expect(try story.left(in: queue).first == "a waiting 0: offline")
        // The pause is in the file, so it holds after a restart, too.
        let restarted = try story.queue()
        try story.add("d", "d", to: restarted)
        #expect(try await restarted.drain().sent == 0)
        story.advance(30)
        #expect(try await restarted.drain().status.isEmpty)
        #expect(story.service.done.sorted() == ["a", "b", "c", "d"])
    }

    @Test func aPauseOfASessionKeepsItsReasonUntilTheSessionIsBack() async throws {
        let queue = try story.queue()
        story.service.fail("a", .signedOut)
        story.service.fail("b", .offline)
        try story.add("a", "x", to: queue)
        try story.add("b", "y", to: queue)
        #expect(try await queue.drain().status.pause?.reason == .signedOut)
        story.advance(3600)
        try await story.database.write { try queue.resume(.offline, in: $0) }
        #expect(try await queue.drain().status.pause?.reason == .signedOut)
        try await story.database.write { try queue.resume(.signedOut, in: $0) }
        #expect(try await queue.drain().status.isEmpty)
    }

    @Test func theProgramPausesAndResumes() async throws {
        let queue = try story.queue()
        try story.add("a", "x", to: queue)
        try await story.database.write { try queue.pause(.program, "for the tests", in: $0) }
        let pause = try await queue.drain().status.pause
        #expect(pause?.reason == .program)
        #expect(pause?.message == "for the tests")
        try await story.database.write { try queue.resume(in: $0) }
        #expect(try await queue.drain().sent == 1)
    }

    // MARK: - Queues, status

    @Test func nothingBeginsAfterThePauseOfTheProgram() async throws {
        let isPaused = Atomic(false)
        let late = Atomic(0)
        let queue = Mutex<MutationQueue<Line>?>(nil)
        let database = story.database
        let made = try story.queue { _, handlers in
            let send = handlers.send
            handlers.send = { line in
                if isPaused.load(ordering: .sequentiallyConsistent) { late.add(1, ordering: .relaxed) }
                if line.mutation.text == "20" {
                    let queue = queue.withLock { $0 }
                    try await database.write { db in try queue?.pause(.program, in: db) }
                    isPaused.store(true, ordering: .sequentiallyConsistent)
                }
                return try await send(line)
            }
        }
        queue.withLock { $0 = made }
        for number in 0..<60 { try story.add("\(number)", "\(number)", to: made) }
        try await made.drain()
        #expect(late.load(ordering: .relaxed) == 0)
        // What was noted ahead of its turn is as it was.
        #expect(try story.left(in: made).allSatisfy { $0.hasSuffix(" waiting 0") })
        let neverSent = try await story.database.read { db in try made.mutations(db).count { !$0.hasBeenSent } }
        #expect(neverSent == 60 - story.service.requests.count)
        try await story.database.write { try made.resume(in: $0) }
        #expect(try await made.drain().sent == neverSent)
        #expect(story.service.done.count == 60)
    }

    @Test func oneAtATimeIsSentWhenTheEffectsOfTheLastAnswerAreThere() async throws {
        let database = story.database
        let missing = Atomic(0)
        let queue = try story.queue { configuration, handlers in
            configuration.concurrency = 1
            let send = handlers.send
            handlers.send = { line in
                let rows = try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM line") ?? 0 }
                if "\(rows)" != line.mutation.text { missing.add(1, ordering: .relaxed) }
                return try await send(line)
            }
        }
        for number in 0..<30 { try story.add("\(number)", "\(number)", to: queue) }
        #expect(try await queue.drain().sent == 30)
        #expect(missing.load(ordering: .relaxed) == 0)
    }

    @Test func queuesOfOneFileAreApart() async throws {
        let (mei, tom) = (try story.queue(named: "mei"), try story.queue(named: "tom"))
        try story.add("a", "x", to: mei)
        try story.add("b", "x", to: tom)
        try await story.database.write { try mei.pause(.signedOut, in: $0) }
        #expect(try await tom.drain().sent == 1)
        #expect(story.service.done == ["b"])
        #expect(try story.left(in: mei) == ["a waiting 0"])
    }

    @Test func theStatusCountsByState() async throws {
        let queue = try story.queue()
        story.service.fail("bad", .refused)
        for (text, entity) in [("bad", "x"), ("b", "x"), ("c", "x")] { try story.add(text, entity, to: queue) }
        try await queue.drain()
        try story.add("d", "y", to: queue)
        story.advance(90)
        let status = try await story.database.read { try queue.status(in: $0) }
        #expect(status.waiting == 3)
        #expect(status.blocked == 2)
        #expect(status.failed == 1)
        #expect(status.sending == 0)
        #expect(status.total == 4)
        #expect(status.age == .seconds(90))
        #expect(status.oldest == Date(timeIntervalSince1970: 1_800_000_000))
    }

    @Test func theStatusIsObserved() async throws {
        let queue = try story.queue()
        var updates = queue.statusUpdates().makeAsyncIterator()
        #expect(try await updates.next()?.total == 0)
        try story.add("a", "x", to: queue)
        #expect(try await updates.next()?.waiting == 1)
        try await queue.drain()
        var last = try await updates.next()
        while last?.total != 0 { last = try await updates.next() }
        // Another process.
        let other = try story.secondDatabase()
        let second = try story.queue(other)
        try await other.write { db in
            _ = try second.enqueue(Line(text: "b"), entity: "y", id: MutationID(rawValue: "other"), in: db)
        }
        while last?.waiting != 1 { last = try await updates.next() }
    }

    @Test func mistakesOfTheProgramAreTypedErrors() async throws {
        let queue = try story.queue()
        func code(_ body: @Sendable (Database) throws -> Void) -> MutationQueueError.Code? {
            do {
                try story.database.write(body)
                return nil
            } catch {
                return (error as? MutationQueueError)?.code
            }
        }
        let line = Line(text: "a")
        #expect(code { _ = try queue.enqueue(line, entity: "", in: $0) } == .text)
        #expect(code { _ = try queue.enqueue(line, entity: "a\0b", in: $0) } == .text)
        #expect(code { _ = try queue.enqueue(line, entity: "x", attempts: 0, in: $0) } == .limit)
        let id = MutationID(rawValue: "one")
        #expect(code { _ = try queue.enqueue(line, entity: "x", id: id, in: $0) } == nil)
        #expect(code { _ = try queue.enqueue(line, entity: "x", id: id, in: $0) } == .identifierTaken)
        #expect(code { _ = try queue.discard(id, in: $0) } == nil)
        #expect(code { _ = try queue.enqueue(line, entity: "x", id: id, in: $0) } == .identifierTaken)
        #expect(code { _ = try queue.discard(id, in: $0) } == .notFound)
        #expect(throws: MutationQueueError.self) { try story.queue(named: "") }
        #expect(try story.left(in: queue) == [])
    }

    // MARK: - Versions

    @Test func mutationsOfAnotherVersionAreReadOrReported() async throws {
        let first = try story.queue()
        try story.add("a", "x", to: first)
        try story.add("b", "x", to: first)
        // A version without the closure cannot read them.
        struct Unknown: Error, CustomStringConvertible { let description = "what is a line?" }
        let second = try story.queue { configuration, handlers in
            configuration.version = 2
            handlers.readOlder = { _, _ in throw Unknown() }
        }
        #expect(try await second.drain().failed == 1)
        #expect(try story.left(in: second) == ["? unreadable 0: what is a line?", "? waiting blocked 0"])
        #expect(try await second.failures().first { _ in true }?.state == .unreadable)
        // The older version does not disturb them, and a program that reads them sends them.
        let third = try story.queue { configuration, handlers in
            configuration.version = 2
            handlers.readOlder = { version, json in
                var line = try JSONDecoder().decode(Line.self, from: json)
                line.text += " of version \(version)"
                return line
            }
        }
        #expect(try await third.drain().sent == 2)
        #expect(story.service.done == ["a of version 1", "b of version 1"])
    }

    @Test func aMutationOfALaterVersionWaitsForIt() async throws {
        let later = try story.queue { configuration, _ in configuration.version = 3 }
        try story.add("a", "x", to: later)
        let earlier = try story.queue()
        #expect(try await earlier.drain().failed == 1)
        #expect(try await later.drain().sent == 1)
    }
}

/// Lets tasks meet: each one that passes waits until as many are there as the gate wants.
final class Gate: Sendable {
    private struct State {
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isOpen = false
        var most = 0
        var inside = 0
    }

    private let count: Int
    private let state = Mutex(State())

    init(_ count: Int) { self.count = count }

    var most: Int { state.withLock { $0.most } }

    func pass() async {
        state.withLock { state in
            state.inside += 1
            state.most = max(state.most, state.inside)
        }
        await withCheckedContinuation { continuation in
            let ready = state.withLock { state in
                state.waiting.append(continuation)
                guard state.waiting.count == count else { return [CheckedContinuation<Void, Never>]() }
                defer { state.waiting = [] }
                state.inside = 0
                return state.waiting
            }
            for continuation in ready { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func opened() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}
