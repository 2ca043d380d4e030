import Foundation
import MistModels
import MistStore
import MistTesting
import Testing

@CloudKitRecord
struct Shelf: Hashable {
    var name: String?
}

/// Written by hand, as programs without macros do it.
struct Book: Hashable {
    var shelf: RecordReference<Shelf>?
    var sequel: RecordReference<Book>?
    var title: String?
    var note: String?
    var loans = 0
    var best: Int?
    var tags: [String] = []
}

extension Book: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let shelf = RecordField<RecordReference<Shelf>>("shelf", isParent: true)
        let sequel = RecordField<RecordReference<Book>>("sequel")
        let title = RecordField<String>("title")
        let note = RecordField<String>("note")
        let loans = RecordField<Int>("loans", merge: .counter)
        let best = RecordField<Int>("best", merge: .greatest)
        let tags = RecordField<[String]>("tags", merge: .union)
    }

    static let recordType = "Book"
    static let fields = Fields()
    static let fieldTable = FieldTable(
        fields.shelf,
        fields.sequel,
        fields.title,
        fields.note,
        fields.loans,
        fields.best,
        fields.tags
    )

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: shelf = try reader.value()
            case 1: sequel = try reader.value()
            case 2: title = try reader.value()
            case 3: note = try reader.value()
            case 4: loans = try reader.value() ?? 0
            case 5: best = try reader.value()
            case 6: tags = try reader.value() ?? []
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, shelf)
        writer.write(1, sequel)
        writer.write(2, title)
        writer.write(3, note)
        writer.write(4, loans)
        writer.write(5, best)
        writer.write(6, tags)
    }
}

/// Promise of the store: devices agree with the service, and nothing is lost, whatever happens on the way.
struct SimulationTests {
    /// How many seeds each test runs, unless `MISTKIT_SIMULATIONS` says otherwise.
    private static let count = ProcessInfo.processInfo.environment["MISTKIT_SIMULATIONS"].flatMap { UInt64($0) }
    private static let start: UInt64 =
        ProcessInfo.processInfo.environment["MISTKIT_SEED"].flatMap { UInt64($0) } ?? 1

    /// - Returns: What happened in each run.
    @discardableResult
    private func run(
        _ usualCount: UInt64,
        _ simulation: SyncSimulation = SyncSimulation(records: [Shelf.self, Book.self]),
        _ change: (inout SyncSimulation) -> Void
    ) throws -> [SimulationCounts] {
        var simulation = simulation
        change(&simulation)
        return try (Self.start..<Self.start + (Self.count ?? usualCount)).map { try simulation.run(seed: $0) }
    }

    @Test func devicesAgreeWithoutFaults() throws {
        try run(20) { $0.faults = .none }
    }

    @Test func devicesAgreeAfterFaultsOfTheNetworkAndCrashes() throws {
        let counts = try run(150) { $0.faults = .network }
        // Families that go as a whole are part of it; a few seeds may have none that fails.
        guard counts.count >= 100 else { return }
        #expect(counts.contains { $0.atomicRequests > 0 })
        #expect(counts.contains { $0.atomicFailures > 0 })
    }

    @Test func devicesAgreeWithAZoneForEachRoot() throws {
        try run(100) {
            $0.zones = .perRoot
            $0.faults = .network
        }
        try run(60) {
            $0.zones = .perRoot
            $0.faults = .all
            $0.faults.purge = 0.01
        }
    }

    @Test func devicesAgreeWithWrongClocksAndPurgedZones() throws {
        try run(150) { $0.faults = .all }
    }

    @Test func devicesAgreeWithoutEditTimesOfFields() throws {
        var configuration = StoreConfiguration()
        configuration.setEditTimes(.ofRecord, of: Shelf.self)
        configuration.setEditTimes(.ofRecord, of: Page.self)
        try run(50, SyncSimulation(records: [Shelf.self, Page.self], configuration: configuration)) { $0.faults = .all }
    }
}

/// A type without a counter, which would need edit times.
@CloudKitRecord
struct Page: Hashable {
    @CloudKitParent var shelf: RecordReference<Shelf>?
    var next: RecordReference<Page>?
    var title: String?
    var text: String?
    @CloudKitField(.greatest) var best: Int?
    @CloudKitField(.union) var tags: [String] = []
}
