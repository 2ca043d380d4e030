import CloudKitEmulator
import Foundation
import GRDB
import MistKit
import MistTesting
import Synchronization
import TestSupport
import Testing

@testable import MistStore

/// Promise 44: the types of a program's first screen are fetched first.
struct FirstPassPromiseTests {
    /// A service whose pages have three records, a phone, and a laptop that fetches shelves first.
    private func scenario() throws -> (SyncScenario, phone: ScenarioDevice, laptop: ScenarioDevice) {
        var configuration = EmulatorConfiguration()
        configuration.limits.recordsPerResponse = 3
        let scenario = try SyncScenario(configuration: configuration)
        let phone = try scenario.device("phone")
        for number in 1...4 {
            try phone.run("INSERT INTO Book (_recordName, best) VALUES ('b\(number)', \(number))")
            try phone.run("INSERT INTO Shelf (_recordName, name) VALUES ('s\(number)', 'S')")
        }
        try phone.sync()
        return (scenario, phone, try scenario.device("laptop") { $0.fetchFirst = [Shelf.self] })
    }

    private static let all = (1...4).map { "Book b\($0) best=\($0)" } + (1...4).map { "Shelf s\($0) name=S" }

    /// The types that a request for changes asks for; `nil` for all types and for another request.
    private static func types(of request: SyncRequest) -> [String]? {
        if case .zoneChanges(let cursors) = request { cursors.first?.desiredRecordTypes } else { nil }
    }

    private static func complete(_ device: ScenarioDevice) throws -> [String] {
        try device.database.read { try device.local.status($0) }.completeTypes
    }

    @Test("44. The types of fetchFirst are fetched first, then everything, and the status says what is complete")
    func typesAreFetchedFirst() throws {
        let (scenario, _, laptop) = try scenario()
        var passes: [[String]?] = []
        var states: [String] = []
        let trace = try laptop.sync { request in
            guard case .zoneChanges(let cursors) = request else { return .answered }
            passes.append(Self.types(of: request))
            #expect((cursors[0].token == nil) == [0, 2].contains(passes.count - 1), "Each pass begins at the start.")
            let complete = try Self.complete(laptop)
            let counts = try ["Shelf", "Book"].map { try laptop.value("SELECT count(*) FROM \($0)") }
            states.append("\(counts) \(complete)")
            return .answered
        }
        #expect(passes == [["Shelf"], ["Shelf"], nil, nil, nil])
        #expect(states.first == "[0, 0] []")
        #expect(states[2] == #"[4, 0] ["Shelf"]"#)
        #expect(try Self.complete(laptop) == ["Book", "Shelf"])
        #expect(trace.summary.fetched == 8, "No record counts twice.")
        // What follows is fetched without a pass.
        try scenario.devices[0].run("INSERT INTO Shelf (_recordName, name) VALUES ('s5', 'S')")
        try scenario.devices[0].sync()
        try laptop.sync { request in
            #expect(Self.types(of: request) == nil)
            return .answered
        }
        try scenario.expect(Self.all + ["Shelf s5 name=S"])
        #expect(try laptop.value("SELECT count(*) FROM mist_first_pass") == 0)
    }

    @Test("44. The process dies before and after any request of the first fetch: the end is the same")
    func deathsOfTheProcess() throws {
        for crash in 0...5 {
            for delivery in [ScenarioDevice.Delivery.crashBefore, .crashAfter] {
                let (scenario, _, laptop) = try scenario()
                var count = 0
                try laptop.sync { request in
                    guard case .zoneChanges = request else { return .answered }
                    defer { count += 1 }
                    return count == crash ? delivery : .answered
                }
                try scenario.synchronise()
                try scenario.expect(Self.all)
            }
        }
    }

    @Test("44. What is deleted between the passes does not stay, and an edit of it has a receipt")
    func deletesBetweenThePasses() throws {
        let (scenario, phone, laptop) = try scenario()
        var isDeleted = false
        try laptop.sync { request in
            guard case .zoneChanges = request, Self.types(of: request) == nil else { return .answered }
            if !isDeleted {
                isDeleted = true
                #expect(try laptop.value("SELECT count(*) FROM Shelf") == 4)
                try phone.run("DELETE FROM Shelf WHERE _recordName IN ('s1', 's2')")
                try phone.sync()
                try laptop.run("UPDATE Shelf SET name = 'edited' WHERE _recordName = 's2'")
            }
            // The deletes are so old that the service reports only existing records.
            guard case .zoneChanges(let pages) = try laptop.answer(request).get() else { return .answered }
            var page = try pages[0].get()
            page.results.removeAll { (try? $0.get().isDeleted) == true }
            return .reply(.success(.zoneChanges([.success(page)])))
        }
        #expect(isDeleted)
        try scenario.synchronise()
        try scenario.expect(
            Self.all.filter { !$0.hasPrefix("Shelf s1") && !$0.hasPrefix("Shelf s2") },
            recovery: ["laptop: Shelf s2 deleted name=edited"]
        )
    }

    @Test("44. A device that was away for a year fetches the types first again, and keeps its edits")
    func aDeviceThatWasAway() throws {
        let (scenario, phone, laptop) = try scenario()
        try scenario.synchronise()
        try phone.run(
            "DELETE FROM Shelf WHERE _recordName = 's1'",
            "UPDATE Shelf SET name = 'T' WHERE _recordName = 's2'"
        )
        try phone.sync()
        try laptop.run("UPDATE Book SET title = 'pending' WHERE _recordName = 'b1'")
        var isRefused = false
        var passes: [[String]?] = []
        try laptop.sync { request in
            guard case .zoneChanges(let cursors) = request else { return .answered }
            if cursors[0].token != nil, !isRefused {
                isRefused = true
                return .reply(.success(.zoneChanges([.failure(.service("CHANGE_TOKEN_EXPIRED"))])))
            }
            passes.append(Self.types(of: request))
            return .answered
        }
        #expect(passes.first == ["Shelf"])
        #expect(passes.last == .some(nil))
        try scenario.synchronise()
        try scenario.expect(
            ["Book b1 best=1 title=pending"]
                + Self.all.dropFirst().filter { !$0.hasPrefix("Shelf s1") }
                .map { $0.hasPrefix("Shelf s2") ? "Shelf s2 name=T" : $0 }
        )
    }

    @Test("44. A first pass that the service refuses ends: everything is fetched", arguments: [0, 1])
    func refusedPasses(page: Int) throws {
        let (scenario, _, laptop) = try scenario()
        var passes: [[String]?] = []
        try laptop.sync { request in
            guard case .zoneChanges = request else { return .answered }
            passes.append(Self.types(of: request))
            guard passes.count == page + 1 else { return .answered }
            return .reply(.success(.zoneChanges([.failure(.service("BAD_REQUEST"))])))
        }
        #expect(passes == Array(repeating: ["Shelf"], count: page + 1) + [nil, nil, nil])
        try scenario.expect(Self.all)
    }

    @Test("44. A zone that is deleted in the pass, and made again, is fetched from its start")
    func zonesThatEnd() throws {
        let (scenario, phone, laptop) = try scenario()
        var count = 0
        try laptop.sync { request in
            guard case .zoneChanges = request else { return .answered }
            count += 1
            if count == 2 { try scenario.purge() }
            return .answered
        }
        try scenario.synchronise()
        try phone.run("INSERT INTO Shelf (_recordName, name) VALUES ('n', 'N')")
        try scenario.synchronise()
        #expect(try laptop.value("SELECT count(*) FROM Shelf") == 1)
        #expect(try laptop.value("SELECT count(*) FROM mist_first_pass") == 0)
    }

    @Test("44. Over HTTP: the first request for changes names the types")
    func overHTTP() async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let service = emulator.service(as: .user)
                let phone = try MistStore(
                    at: folder.appending(path: "phone"),
                    records: [Shelf.self, Book.self],
                    service: service
                )
                for number in 1...3 { try await phone.privateDatabase.add(Book(title: "B"), named: "b\(number)") }
                try await phone.privateDatabase.add(Shelf(name: "S"), named: "s")
                try await phone.sync()
                var configuration = StoreConfiguration()
                configuration.fetchFirst = [Shelf.self]
                let noting = NotingService(service)
                let laptop = try MistStore(
                    at: folder.appending(path: "laptop"),
                    records: [Shelf.self, Book.self],
                    service: noting,
                    configuration: configuration
                )
                #expect(try await laptop.privateDatabase.status().completeTypes == [])
                #expect(try await laptop.sync().fetched == 4)
                #expect(try await laptop.privateDatabase.status().completeTypes == ["Book", "Shelf"])
                let replies = noting.pages.withLock(\.self)
                #expect(replies == [["s"], ["b1", "b2", "b3", "s"]])
                try phone.close()
                try laptop.close()
            }
        }
    }
}

/// Notes the names of the records in each page of changes.
private final class NotingService: SyncService {
    private let service: any SyncService
    let pages = Mutex<[[String]]>([])

    init(_ service: any SyncService) {
        self.service = service
    }

    func send(_ request: SyncRequest, to scope: DatabaseScope) async throws -> SyncReply {
        let reply = try await service.send(request, to: scope)
        if case .zoneChanges(let results) = reply {
            let names = try results.flatMap { try $0.get().results.map { try $0.get().recordName ?? "" } }
            pages.withLock { $0.append(names.sorted()) }
        }
        return reply
    }
}
