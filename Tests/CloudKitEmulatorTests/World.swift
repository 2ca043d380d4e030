import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Foundation
import MistTesting
import StreamingJSON
import Synchronization
import Testing

/// An identifier source that returns the same identifiers in every run.
func countedIdentifiers() -> IdentifierSource {
    let state = Mutex<UInt64>(1)
    return IdentifierSource { count in
        (0..<count).map { _ in
            state.withLock { state in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 33)
            }
        }
    }
}

/// An emulator in memory with two users, Ann and Ben. Ann's private database has the custom zone Notes.
struct World {
    static let container = "iCloud.com.example.contract"
    static let notes = ZoneID(zoneName: "Notes")

    let clock = TestClock(Date(timeIntervalSince1970: 1_700_000_000))
    let emulator: CloudKitEmulator
    let ann: String
    let ben: String
    let privateDatabase = DatabaseAddress(World.container, .development, .private)
    let publicDatabase = DatabaseAddress(World.container, .development, .public)
    let sharedDatabase = DatabaseAddress(World.container, .development, .shared)

    init(
        storage: EmulatorStorage = .memory,
        _ configure: (inout EmulatorConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = EmulatorConfiguration()
        configure(&configuration)
        let clock = clock
        emulator = try CloudKitEmulator(
            storage: storage,
            configuration: configuration,
            identifiers: countedIdentifiers(),
            clock: { clock.now }
        )
        ann = try emulator.createUser(NameComponents(givenName: "Ann", familyName: "Example"))
        ben = try emulator.createUser()
        _ = try asAnn().modifyZones([ZoneOperation(.create, zone: Zone(zoneID: Self.notes))])
    }

    /// Ann's requests to a database of the container.
    func asAnn(in scope: DatabaseScope = .private) throws -> RequestContext {
        try emulator.request(in: DatabaseAddress(Self.container, .development, scope), as: .user(ann))
    }

    /// Ben's requests to a database of the container.
    func asBen(in scope: DatabaseScope = .private) throws -> RequestContext {
        try emulator.request(in: DatabaseAddress(Self.container, .development, scope), as: .user(ben))
    }

    /// Applies operations to Ann's zone Notes, and returns a short text for the result of each.
    @discardableResult
    func modify(_ operations: RecordOperation..., atomic: Bool? = nil) throws -> [String] {
        try modify(operations, atomic: atomic)
    }

    @discardableResult
    func modify(_ operations: [RecordOperation], zoneID: ZoneID? = notes, atomic: Bool? = nil) throws -> [String] {
        try asAnn().modifyRecords(operations, zoneID: zoneID, atomic: atomic).records.map(summary)
    }

    /// Every live record of Ann's zone Notes as a short text, in the order of their last writes.
    func contents(_ zoneID: ZoneID = notes) throws -> [String] {
        var contents: [String] = []
        var token: String?
        while true {
            let page = try asAnn().fetchRecordChanges(ZoneChangesRequest(zoneID: zoneID, syncToken: token))
            contents += page.records.map(summary)
            guard page.moreComing else { break }
            token = page.syncToken
        }
        return contents.filter { !$0.hasSuffix("deleted") }
    }

    /// The names of the records that a query of Ann's zone Notes finds, in order.
    func find(_ query: RecordQuery) throws -> [String] {
        try asAnn().queryRecords(query, zoneID: Self.notes)
            .records.map { $0.itemID ?? "?" }
    }

    func tag(_ name: String) throws -> String? {
        try asAnn().lookupRecords([RecordLookup(recordName: name)], zoneID: Self.notes).records.first?.get()
            .recordChangeTag
    }
}

extension RecordOperation {
    /// An operation on a Note.
    static func note(
        _ type: OperationType,
        _ name: String?,
        tag: String? = nil,
        _ fields: Record.Fields = [:]
    ) -> RecordOperation {
        RecordOperation(
            type,
            record: Record(recordType: "Note", recordName: name, recordChangeTag: tag, fields: fields)
        )
    }
}

/// A result in one line: `A@1 {"title":{"value":"x","type":"STRING"}}`, `A deleted`, `A! CONFLICT client oplock …`.
func summary(_ result: RecordResult) -> String {
    switch result {
    case .success(let record):
        let name = record.recordName ?? "?"
        if record.isDeleted { return "\(name) deleted" }
        return "\(name)@\(record.recordChangeTag ?? "?") \(text(record.fields))"
    case .failure(let error):
        return "\(error.id ?? "?")! \(error.serverErrorCode.rawValue) \(error.reason ?? "")"
    }
}

func summary(_ result: ZoneResult) -> String {
    switch result {
    case .success(let zone): zone.zoneID.zoneName + (zone.isDeleted ? " deleted" : "")
    case .failure(let error):
        "\(error.id?.zoneName ?? "?")! \(error.serverErrorCode.rawValue)"
    }
}

/// The JSON text of a value.
func text(_ value: some JSONWritable) -> String {
    (try? JSONWriter.bytes(of: value)).map { String(decoding: $0, as: UTF8.self) } ?? "?"
}

/// A value from its JSON text.
func value<Value: JSONReadable>(_ json: String) throws -> Value {
    try JSONReader.read(Value.self, from: json)
}

/// Runs `body`, which must be refused, and returns the refusal as a short text.
func refusal(_ body: () throws -> some Any) -> String {
    do {
        _ = try body()
        return "accepted"
    } catch let error as EmulatorError {
        return "\(error.serverErrorCode.rawValue) \(error.reason)"
    } catch {
        return "\(error)"
    }
}
