import CloudKitEmulatorServer
import Foundation
import MistKit
import MistTesting
import Testing

/// The client's reaction to everything that can go wrong, one line for each case: the fault, the call, and its outcome.
///
/// An outcome has the result of the call, the requests to the emulator, the waits between them in seconds (the random
/// source always returns one half), and, where it matters, the content of the database afterwards.
@Suite(.serialized)
struct FaultTableTests {
    @Test(arguments: reads + writes + batches + others)
    func everyFaultHasItsOutcome(line: Line) async throws {
        try await withCloudKitEmulator(over: line.connection) { emulator in
            let zone = ZoneID(zoneName: "Notes")
            let setUp = emulator.service(as: .user).privateDatabase
            try await setUp.createZone("Notes")
            let a = try await setUp.create(Record.note("a", "old"), inZone: zone)
            try await setUp.create(Record.note("b", "old"), inZone: zone)
            if line.call == .staleUpdate {
                // Another client updates the record first.
                try await setUp.forceUpdate(Record.note("a", "newer"), inZone: zone)
            }
            for rule in line.rules { emulator.faults.add(rule) }
            emulator.faults.forgetRequests()

            let clock = TestClock(skippingWaits: true)
            let service = emulator.service(as: line.identity) {
                $0.retryPolicy = RetryPolicy()
                $0.clock = clock.timer
                $0.random = { 0.5 }
            }
            let outcome = await line.call.outcome(on: service, zone: zone, existing: a)
            let requests = emulator.faults.requests.map { $0.split(separator: "/").last ?? "" }.joined(separator: " ")
            let waits = clock.waits.map {
                "\(Double($0.components.attoseconds) / 1e18 + Double($0.components.seconds))"
            }
            var found = "\(outcome) | \(requests) |"
            if !waits.isEmpty { found += " " + waits.joined(separator: " ") }

            if line.expected.split(separator: "|").count > 3 {
                emulator.faults.removeAll()
                let reader = emulator.service(as: .user).privateDatabase
                let notes =
                    (try? await reader.records(matching: Query(recordType: "Note"), inZone: zone).collect()) ?? []
                let state = notes.map { note in
                    let name = note.recordName.map { $0.count > 8 ? "?" : $0 } ?? ""
                    return "\(name)=\(note["title"]?.stringValue ?? "")"
                }
                found += " | " + state.sorted().joined(separator: " ")
            }
            #expect(found == line.expected, "\(line)")
        }
    }

    // MARK: Reading

    static let reads: [Line] = [
        // Connections that break.
        Line(.fetch, .loseRequest, "ok | lookup lookup | 0.25"),
        Line(.fetch, .loseReply, "ok | lookup lookup | 0.25"),
        Line(.fetch, .loseReply, over: .socket, "ok | lookup lookup | 0.25"),
        Line(.fetch, .loseRequest, over: .socket, "ok | lookup lookup | 0.25"),
        Line(.fetch, .loseReply, calls: .all, "network ×5 | lookup lookup lookup lookup lookup | 0.25 0.5 1.0 2.0"),
        Line(.fetch, .resetReply(), "ok | lookup lookup | 0.25"),
        Line(.fetch, .resetReply(), over: .socket, "ok | lookup lookup | 0.25"),
        Line(.fetch, .resetReply(), calls: .all, over: .socket, "network ×5 | \(five("lookup")) | 0.25 0.5 1.0 2.0"),
        Line(.fetch, .slowReply(chunkSize: 7), "ok | lookup |"),
        Line(.fetch, .slowReply(chunkSize: 7), over: .socket, "ok | lookup |"),
        // Throttling.
        Line(.fetch, .throttle(), calls: .first(2), "ok | lookup lookup lookup | 0.25 0.5"),
        Line(.fetch, .throttle(), calls: .all, "THROTTLED ×5 | \(five("lookup")) | 0.25 0.5 1.0 2.0"),
        Line(.fetch, .throttle(retryAfter: 3), "ok | lookup lookup | 3.25"),
        Line(.fetch, .throttle(retryAfter: 0), "ok | lookup lookup | 0.25"),
        Line(.fetch, .throttle(header: "4"), "ok | lookup lookup | 4.25"),
        Line(.fetch, .throttle(retryAfter: 2, header: "6"), "ok | lookup lookup | 6.25"),
        Line(.fetch, .throttle(retryAfter: 7, header: "soon"), "ok | lookup lookup | 7.25"),
        Line(.fetch, .throttle(retryAfter: 61), "THROTTLED ×1 | lookup |"),
        Line(.fetch, .throttle(retryAfter: 20), calls: .all, "THROTTLED ×3 | lookup lookup lookup | 20.25 20.5"),
        Line(.fetch, .emptyReply(status: 429), "ok | lookup lookup | 0.25"),
        Line(.fetch, .refuse("TRY_AGAIN_LATER"), "ok | lookup lookup | 0.25"),
        Line(.fetch, .refuse("TRY_AGAIN_LATER", retryAfter: 9), "ok | lookup lookup | 9.25"),
        Line(.fetch, .refuse("ZONE_BUSY"), "ok | lookup lookup | 0.25"),
        // Failures of the service, and of the proxies in front of it.
        Line(.fetch, .refuse("INTERNAL_ERROR"), "ok | lookup lookup | 0.25"),
        Line(.fetch, .refuse("BRAND_NEW"), "BRAND_NEW ×1 | lookup |"),
        Line(.fetch, .refuse("BRAND_NEW", status: 500), "BRAND_NEW ×1 | lookup |"),
        Line(.fetch, .refuse("BRAND_NEW", retryAfter: 2), "ok | lookup lookup | 2.25"),
        Line(.fetch, .refuse("BAD_REQUEST"), "BAD_REQUEST ×1 | lookup |"),
        Line(
            .fetch,
            .refuse("NOT_FOUND", reason: "could not find handler for endpoint"),
            "ok | lookup lookup | 0.25"
        ),
        Line(.fetch, .emptyReply(status: 503), "ok | lookup lookup | 0.25"),
        Line(.fetch, .emptyReply(status: 503, header: "5"), "ok | lookup lookup | 5.25"),
        Line(.fetch, .emptyReply(status: 504), "ok | lookup lookup | 0.25"),
        Line(.fetch, .emptyReply(status: 500), "ok | lookup lookup | 0.25"),
        Line(.fetch, .emptyReply(status: 302), "unexpectedResponse ×1 | lookup |"),
        Line(.fetch, .emptyReply(status: 200), "decoding | lookup |"),
        Line(.fetch, .htmlPage(status: 502), "ok | lookup lookup | 0.25"),
        Line(.fetch, .htmlPage(status: 404), "unexpectedResponse ×1 | lookup |"),
        Line(.fetch, .htmlPage(status: 200), "unexpectedResponse | lookup |"),
        Line(.fetch, .invalidJSON, "decoding | lookup |"),
        Line(.fetch, .truncateReply(afterBytes: 30), "decoding | lookup |"),
        Line(.fetch, .contentType("text/plain"), "unexpectedResponse | lookup |"),
        // Both meanings of 421, and other failures of credentials.
        Line(.fetch, .misdirected, "ok | lookup lookup | 0.25"),
        Line(.fetch, .misdirected, over: .socket, "ok | lookup lookup | 0.25"),
        Line(.fetch, .expiredToken, "AUTHENTICATION_REQUIRED ×1 | lookup |"),
        Line(.fetch, .refuse("AUTHENTICATION_FAILED"), "AUTHENTICATION_FAILED ×1 | lookup |"),
        Line(.fetch, .refuse("ACCESS_DENIED"), "ACCESS_DENIED ×1 | lookup |"),
        Line(.fetch, .clockSkew(seconds: 3600), "AUTHENTICATION_REQUIRED ×1 | lookup |"),
        Line(.publicSave, .clockSkew(seconds: 3600), as: .serverKey, "AUTHENTICATION_FAILED ×1 | modify |"),
        Line(.publicSave, .clockSkew(seconds: -3600), as: .serverKey, "AUTHENTICATION_FAILED ×1 | modify |"),
        Line(.publicSave, .clockSkew(seconds: 300), as: .serverKey, "ok | modify |"),
        // Other operations that read.
        Line(.query, .loseReply, "a b | query query | 0.25"),
        Line(.query, .throttle(retryAfter: 1), "a b | query query | 1.25"),
        Line(.query, .invalidJSON, "decoding | query |"),
        Line(.query, .resetReply(afterBytes: 40), over: .socket, "a b | query query | 0.25"),
        Line(.changes, .loseReply, "a b | zone zone | 0.25"),
        Line(.changes, .throttle(retryAfter: 1), "a b | zone zone | 1.25"),
        Line(.zones, .loseReply, "Notes _defaultZone | list list | 0.25"),
        Line(.zones, .htmlPage(status: 503), "Notes _defaultZone | list list | 0.25"),
        Line(.caller, .loseReply, "ok | caller caller | 0.25"),
        Line(.caller, .expiredToken, "AUTHENTICATION_REQUIRED ×1 | caller |"),
    ]

    // MARK: Writing one record

    static let writes: [Line] = [
        // A create with a name is recognised as done.
        Line(.create, .loseReply, "n=new | modify modify lookup | 0.25 | a=old b=old n=new"),
        Line(.create, .loseReply, over: .socket, "n=new | modify modify lookup | 0.25 | a=old b=old n=new"),
        Line(.create, .loseRequest, "n=new | modify modify | 0.25 | a=old b=old n=new"),
        Line(
            .create,
            .loseReply,
            calls: .first(2),
            "n=new | modify modify modify lookup | 0.25 0.5 | a=old b=old n=new"
        ),
        Line(.create, .loseReply, calls: .all, "network ×5 | \(five("modify")) | 0.25 0.5 1.0 2.0 | a=old b=old n=new"),
        Line(.create, .resetReply(), over: .socket, "n=new | modify modify lookup | 0.25 | a=old b=old n=new"),
        Line(.create, .refuse("INTERNAL_ERROR"), "n=new | modify modify | 0.25 | a=old b=old n=new"),
        Line(.create, .emptyReply(status: 504), "n=new | modify modify | 0.25 | a=old b=old n=new"),
        Line(.create, .htmlPage(status: 502), "n=new | modify modify | 0.25 | a=old b=old n=new"),
        Line(.create, .throttle(retryAfter: 3), "n=new | modify modify | 3.25 | a=old b=old n=new"),
        Line(.create, .misdirected, "n=new | modify modify | 0.25 | a=old b=old n=new"),
        // A response that cannot be read is not requested again, although the write was done.
        Line(.create, .invalidJSON, "decoding | modify | | a=old b=old n=new"),
        Line(.create, .truncateReply(afterBytes: 20), "decoding | modify | | a=old b=old n=new"),
        Line(.create, .contentType("text/html"), "unexpectedResponse | modify | | a=old b=old n=new"),
        // A create without a name is not repeated, unless the service says that it was not done.
        Line(.createNameless, .loseReply, "network ×1 | modify | | ?=new a=old b=old"),
        Line(.createNameless, .loseRequest, "network ×1 | modify | | a=old b=old"),
        Line(.createNameless, .refuse("INTERNAL_ERROR"), "INTERNAL_ERROR ×1 | modify | | a=old b=old"),
        Line(.createNameless, .throttle(), "ok | modify modify | 0.25 | ?=new a=old b=old"),
        Line(.createNameless, .emptyReply(status: 503, header: "2"), "ok | modify modify | 2.25 | ?=new a=old b=old"),
        // An update that was done conflicts with itself, and the client recognises that.
        Line(.update, .loseReply, "a=new | modify modify lookup | 0.25 | a=new b=old"),
        Line(.update, .loseRequest, "a=new | modify modify | 0.25 | a=new b=old"),
        Line(.replace, .loseReply, "a=new | modify modify lookup | 0.25 | a=new b=old"),
        Line(.replace, .throttle(retryAfter: 1), "a=new | modify modify | 1.25 | a=new b=old"),
        Line(.staleUpdate, nil, "CONFLICT of a=newer | modify lookup | | a=newer b=old"),
        Line(.staleUpdate, .loseRequest, "CONFLICT of a=newer | modify modify lookup lookup | 0.25 | a=newer b=old"),
        // Operations that overwrite look at the record before a retry.
        Line(.forceUpdate, .loseReply, "a=new | modify lookup | 0.25 | a=new b=old"),
        Line(.forceUpdate, .loseRequest, "a=new | modify lookup modify | 0.25 | a=new b=old"),
        Line(.forceReplace, .loseReply, "a=new | modify lookup | 0.25 | a=new b=old"),
        // A record that is missing was deleted.
        Line(.delete, .loseReply, "ok | modify modify lookup | 0.25 | b=old"),
        Line(.delete, .loseRequest, "ok | modify modify | 0.25 | b=old"),
        Line(.forceDelete, .loseReply, "ok | modify modify | 0.25 | b=old"),
        Line(.forceDelete, .throttle(retryAfter: 90), "THROTTLED ×1 | modify | | a=old b=old"),
        Line(.delete, .expiredToken, "AUTHENTICATION_REQUIRED ×1 | modify | | a=old b=old"),
    ]

    // MARK: Writing and fetching many

    static let batches: [Line] = [
        // Items that failed are sent again, alone.
        Line(
            .fetchMany,
            .refuseItems("THROTTLED", named: ["a"], retryAfter: 2),
            "a=old b=old | lookup lookup | 2.25"
        ),
        Line(.fetchMany, .refuseItems("TRY_AGAIN_LATER"), "a=old b=old | lookup lookup | 0.25"),
        Line(.fetchMany, .refuseItems("INTERNAL_ERROR", named: ["b"]), "a=old b=old | lookup lookup | 0.25"),
        Line(.fetchMany, .refuseItems("ACCESS_DENIED", named: ["b"]), "a=old ACCESS_DENIED ×1 | lookup |"),
        Line(
            .fetchMany,
            .refuseItems("THROTTLED", named: ["b"]),
            calls: .all,
            "a=old THROTTLED ×5 | \(five("lookup")) | 0.25 0.5 1.0 2.0"
        ),
        Line(
            .saveMany,
            .refuseItems("THROTTLED", named: ["y"], retryAfter: 2),
            "x=new y=new z=new | modify modify | 2.25 | a=old b=old x=new y=new z=new"
        ),
        Line(
            .saveMany,
            .refuseItems("BRAND_NEW", named: ["y"]),
            "x=new BRAND_NEW ×1 z=new | modify | | a=old b=old x=new z=new"
        ),
        Line(.saveMany, .loseReply, "x=new y=new z=new | modify modify lookup | 0.25 | a=old b=old x=new y=new z=new"),
        // A batch that is too large is sent in halves.
        Line(
            .saveMany,
            .refuse("LIMIT_EXCEEDED"),
            "x=new y=new z=new | modify modify modify | | a=old b=old x=new y=new z=new"
        ),
        Line(
            .saveMany,
            .refuse("BAD_REQUEST", status: 413, reason: "the request body is longer than 10 bytes"),
            "x=new y=new z=new | modify modify modify | | a=old b=old x=new y=new z=new"
        ),
        // An item that is too large by itself fails alone.
        Line(
            .saveMany,
            .refuse("BAD_REQUEST", status: 413, reason: "the request body is longer than 10 bytes"),
            calls: .first(2),
            "BAD_REQUEST ×1 y=new z=new | modify modify modify | | a=old b=old y=new z=new"
        ),
        Line(.saveMany, .htmlPage(status: 413), "x=new y=new z=new | modify modify modify |"),
        Line(.saveMany, .refuse("QUOTA_EXCEEDED"), "QUOTA_EXCEEDED ×1 | modify | | a=old b=old"),
        Line(
            .saveMany,
            .refuse("LIMIT_EXCEEDED"),
            calls: .all,
            "LIMIT_EXCEEDED ×1 LIMIT_EXCEEDED ×1 LIMIT_EXCEEDED ×1 | \(five("modify")) | | a=old b=old"
        ),
        // An atomic batch is never split; it is retried as a whole.
        Line(.saveAtomically, .refuse("LIMIT_EXCEEDED"), "LIMIT_EXCEEDED ×1 | modify | | a=old b=old"),
        Line(
            .saveAtomically,
            .refuseItems("TRY_AGAIN_LATER", named: ["y"], retryAfter: 4),
            "x=new y=new | modify modify | 4.25 | a=old b=old x=new y=new"
        ),
        Line(
            .saveAtomically,
            .refuseItems("ACCESS_DENIED", named: ["y"]),
            "ATOMIC_ERROR ×1 ACCESS_DENIED ×1 | modify | | a=old b=old"
        ),
        Line(.saveAtomically, .loseReply, "x=new y=new | modify modify lookup | 0.25 | a=old b=old x=new y=new"),
        Line(.saveAtomically, .refuse("ATOMIC_ERROR"), "ATOMIC_ERROR ×1 ATOMIC_ERROR ×1 | modify | | a=old b=old"),
    ]

    // MARK: Zones

    static let others: [Line] = [
        Line(.createZone, .loseReply, "Z | modify modify | 0.25"),
        Line(.createZone, .throttle(retryAfter: 5), "Z | modify modify | 5.25"),
        Line(.createZone, .refuse("ACCESS_DENIED"), "ACCESS_DENIED ×1 | modify |"),
        Line(.deleteZone, .loseReply, "ok | modify modify lookup | 0.25"),
        Line(.deleteZone, .loseRequest, "ok | modify modify | 0.25"),
        Line(.deleteZone, .invalidJSON, "decoding | modify |"),
    ]

    private static func five(_ name: String) -> String { Array(repeating: name, count: 5).joined(separator: " ") }
}

/// A line of the table.
struct Line: Sendable, CustomTestStringConvertible {
    var call: Call
    var rules: [FaultRule]
    var connection: EmulatorConnection
    var identity: RunningEmulator.Identity
    var expected: String
    var testDescription: String

    init(
        _ call: Call,
        _ fault: Fault?,
        calls: FaultRule.Calls = .first(1),
        over connection: EmulatorConnection = .inProcess,
        as identity: RunningEmulator.Identity = .user,
        _ expected: String
    ) {
        self.call = call
        rules = fault.map { [FaultRule($0, on: call.endpoint, calls: calls)] } ?? []
        self.connection = connection
        self.identity = identity
        self.expected = expected
        testDescription = "\(call), \(fault.map { "\($0)" } ?? "nothing") at \(calls), \(connection)"
    }
}

/// The call of a line.
enum Call: Sendable {
    case fetch, fetchMany, query, changes, zones, caller
    case create, createNameless, update, replace, staleUpdate, forceUpdate, forceReplace, delete, forceDelete,
        publicSave
    case saveMany, saveAtomically, createZone, deleteZone

    /// The endpoint that fails. Requests that check the outcome afterwards do not fail.
    var endpoint: String {
        switch self {
        case .fetch, .fetchMany: "records/lookup"
        case .query: "records/query"
        case .changes: "changes/zone"
        case .zones: "zones/list"
        case .caller: "users/caller"
        case .createZone, .deleteZone: "zones/modify"
        default: "records/modify"
        }
    }

    func outcome(on service: CloudKitService, zone: ZoneID, existing a: Record) async -> String {
        do {
            return try await result(on: service, zone: zone, existing: a)
        } catch {
            guard let error = error as? CloudKitError else { return "\(error)" }
            if let record = error.serverRecord { return "\(error.code) of \(describe(record))" }
            return describe(error)
        }
    }

    private func result(
        on service: CloudKitService,
        zone: ZoneID,
        existing a: Record
    ) async throws -> String {
        let database = service.privateDatabase
        var changed = a
        changed["title"] = "new"
        switch self {
        case .fetch:
            _ = try await database.fetch("a", inZone: zone)
        case .fetchMany:
            return describe(try await database.fetch(["a", "b"], inZone: zone))
        case .query:
            let records = try await database.records(matching: Query(recordType: "Note"), inZone: zone).collect()
            return records.compactMap(\.recordName).sorted().joined(separator: " ")
        case .changes:
            var names: [String] = []
            for try await page in database.changes(inZone: zone) {
                names += page.changedRecords.compactMap(\.recordName)
            }
            return names.sorted().joined(separator: " ")
        case .zones:
            return try await database.fetchZones().map(\.zoneID.zoneName).sorted().joined(separator: " ")
        case .caller:
            _ = try await service.fetchCaller()
        case .create:
            return describe(try await database.create(Record.note("n", "new"), inZone: zone))
        case .createNameless:
            _ = try await database.create(Record.note(nil, "new"), inZone: zone)
        case .update, .staleUpdate:
            return describe(try await database.update(changed, inZone: zone))
        case .replace:
            return describe(try await database.replace(changed, inZone: zone))
        case .forceUpdate:
            return describe(try await database.forceUpdate(changed, inZone: zone))
        case .forceReplace:
            return describe(try await database.forceReplace(changed, inZone: zone))
        case .delete:
            try await database.delete(a, inZone: zone)
        case .forceDelete:
            try await database.forceDelete("a", inZone: zone)
        case .publicSave:
            try await service.publicDatabase.save(Record.note("p", "new"))
        case .saveMany:
            return describe(
                try await database.save([Record.note("x", "new"), .note("y", "new"), .note("z", "new")], inZone: zone)
            )
        case .saveAtomically:
            return describe(
                try await database.save([Record.note("x", "new"), .note("y", "new")], inZone: zone, atomic: true)
            )
        case .createZone:
            return try await database.createZone("Z").zoneID.zoneName
        case .deleteZone:
            try await database.deleteZone(zone)
        }
        return "ok"
    }

    private func describe(_ results: [Result<Record, CloudKitError>]) -> String {
        results.map { result in
            switch result {
            case .success(let record): describe(record)
            case .failure(let error): describe(error)
            }
        }.joined(separator: " ")
    }

    private func describe(_ record: Record) -> String {
        "\(record.recordName ?? "")=\(record["title"]?.stringValue ?? "")"
    }

    private func describe(_ error: CloudKitError) -> String {
        error.attempts > 0 ? "\(error.code) ×\(error.attempts)" : "\(error.code)"
    }
}

extension Record {
    static func note(_ name: String?, _ title: String) -> Record {
        Record(recordType: "Note", recordName: name, fields: ["title": .string(title)])
    }
}
