import CloudKitContract
import CloudKitEmulator
import HTTPTypes
import MistTesting
import OpenAPISwiftRuntime
import StreamingJSON
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The control of the contract suite: a service that answers wrong is found out.
@Suite(.serialized)
struct ContractControlTests {
    @Test(arguments: corruptions)
    func corruptedAnswersBreakRules(corruption: Corruption) async throws {
        try await withCloudKitEmulator { emulator in
            let transport = CorruptingTransport(base: emulator.transport, corruption: corruption)
            let target = try emulator.contractTarget(through: transport)
            let rules = CloudKitContract.rules.filter { corruption.breaks.contains($0.number) }
            let broken = await CloudKitContract.run(rules, against: target).filter(\.outcome.isBroken)
            #expect(Set(broken.map(\.rule.number)) == corruption.breaks)
        }
    }

    /// An emulator with other limits than the service's is found out, too.
    @Test func otherLimitsBreakRules() async throws {
        var configuration = EmulatorConfiguration()
        configuration.limits.operationsPerRequest = 250
        configuration.limits.recordsPerResponse = 100
        configuration.limits.recordSize = 10_000_000
        configuration.limits.deleteSelfReferencesPerTarget = 1000
        configuration.limits.fieldsPerRecordType = 1000
        configuration.limits.nameLength = 1000
        configuration.limits.valuesPerListFilter = 1000
        configuration.signatureClockWindow = 1_000_000
        try await withCloudKitEmulator(configuration: configuration) { emulator in
            let numbers: Set = [43, 79, 131, 140, 142, 210, 225, 250, 251, 316, 350, 351]
            let rules = CloudKitContract.rules.filter { numbers.contains($0.number) }
            let broken = await CloudKitContract.run(rules, against: try emulator.contractTarget()).filter(
                \.outcome.isBroken
            )
            #expect(Set(broken.map(\.rule.number)) == numbers)
        }
    }

    /// No rule is content with an answer that says nothing.
    @Test func emptyAnswersBreakEveryRule() async throws {
        try await withCloudKitEmulator { emulator in
            let corruption = Corruption("empty answers", breaking: []) { answer in
                answer.status = 200
                answer.headers = [:]
                answer.body = [:]
            }
            let transport = CorruptingTransport(base: emulator.transport, corruption: corruption)
            for (rule, outcome) in await CloudKitContract.run(against: try emulator.contractTarget(through: transport))
            {
                if case .skipped = outcome { continue }
                #expect(outcome.isBroken, "\(rule)")
            }
        }
    }

    @Test func aViolationSaysWhatWasAskedExpectedAndAnswered() async throws {
        try await withCloudKitEmulator { emulator in
            let corruption = Corruption("", breaking: []) { answer in answer.records { $0.reverse() } }
            let transport = CorruptingTransport(base: emulator.transport, corruption: corruption)
            let rule = try #require(CloudKitContract.rules.first { $0.number == 160 })
            let target = try emulator.contractTarget(through: transport)
            let violation = try await #require(throws: ContractViolation.self) {
                try await rule.verify(against: target)
            }
            #expect(violation.rule == "160. lookup answers in the order asked, missing records included")
            #expect(
                violation.request.hasPrefix("POST /database/1/iCloud.test.mistkit/development/private/records/lookup {")
            )
            #expect(violation.difference == #"body.records[0].fields.title.value: expected "b", got "a""#)
            #expect(violation.expected.contains(#"serverErrorCode: "NOT_FOUND""#))
            #expect(violation.got.hasPrefix("200 {"))
            for secret in [emulator.apiToken, emulator.webAuthToken, emulator.serverKeyPEM] {
                #expect(!"\(violation)".contains(secret))
            }
        }
    }
}

/// A way in which a service could be wrong, and rules that must notice.
struct Corruption: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The numbers of the rules.
    var breaks: Set<Int>
    var change: @Sendable (inout Answer) -> Void

    init(_ description: String, breaking rules: Set<Int>, change: @escaping @Sendable (inout Answer) -> Void) {
        testDescription = description
        breaks = rules
        self.change = change
    }
}

/// An answer on its way, to be spoiled.
struct Answer {
    var path: String
    var status: Int
    var headers: HTTPFields
    var body: [String: JSONValue]

    /// Changes each item of the arrays `records` and `zones`, and of `records` within `zones`.
    mutating func items(_ change: (inout [String: JSONValue]) -> Void) {
        body = Self.changingItems(of: body, change)
    }

    /// Changes the array `records`, where there is one.
    mutating func records(_ change: (inout [JSONValue]) -> Void) {
        guard var records = body["records"]?.arrayValue else { return }
        change(&records)
        body["records"] = .array(records)
    }

    private static func changingItems(
        of object: [String: JSONValue],
        _ change: (inout [String: JSONValue]) -> Void
    ) -> [String: JSONValue] {
        var object = object
        for key in ["records", "zones"] {
            guard let items = object[key]?.arrayValue else { continue }
            object[key] = .array(
                items.map { item in
                    guard var members = item.objectValue.map({ changingItems(of: $0, change) }) else { return item }
                    change(&members)
                    return .object(members)
                }
            )
        }
        return object
    }
}

private let corruptions: [Corruption] = [
    Corruption("items in another order", breaking: [21, 160, 340]) { answer in answer.records { $0.reverse() } },
    Corruption("items without their codes", breaking: [74, 102, 108, 110, 152]) { answer in
        answer.items { $0["serverErrorCode"] = nil }
    },
    Corruption("failed items as successes", breaking: [54, 105, 117, 193, 226]) { answer in
        answer.items { item in
            guard item.removeValue(forKey: "serverErrorCode") != nil else { return }
            item["reason"] = nil
            item["recordType"] = "ContractNote"
            item["recordChangeTag"] = "1"
            item["fields"] = [:]
            item["created"] = ["timestamp": 1]
            item["modified"] = ["timestamp": 1]
        }
    },
    Corruption("failed requests as successes", breaking: [15, 30, 41, 77, 324]) { answer in
        guard answer.status >= 400 else { return }
        answer.status = 200
        answer.body = ["records": [], "zones": []]
    },
    Corruption("failed requests with the status 500", breaking: [3, 15, 30, 41, 77, 324]) { answer in
        if answer.status >= 400 { answer.status = 500 }
    },
    Corruption("one code for all failures", breaking: [30, 53, 110, 160, 245]) { answer in
        if answer.body["serverErrorCode"] != nil { answer.body["serverErrorCode"] = "INTERNAL_ERROR" }
        answer.items { if $0["serverErrorCode"] != nil { $0["serverErrorCode"] = "INTERNAL_ERROR" } }
    },
    Corruption("one change tag for all records", breaking: [107, 114, 128, 134]) { answer in
        answer.items { if $0["recordChangeTag"] != nil { $0["recordChangeTag"] = "same" } }
    },
    Corruption("one item missing", breaking: [21, 140, 160]) { answer in
        answer.records { if $0.count > 1 { $0.removeLast() } }
    },
    Corruption("one item twice", breaking: [160, 300, 302]) { answer in
        answer.records { if let last = $0.last { $0.append(last) } }
    },
    Corruption("fields without types", breaking: [190, 199, 205]) { answer in
        answer.items { item in
            item["fields"] = item["fields"]?.objectValue.map { fields in
                .object(fields.mapValues { $0["value"].map { ["value": $0] } ?? $0 })
            }
        }
    },
    Corruption("records without fields", breaking: [100, 107, 170, 211]) { answer in
        answer.items { if $0["fields"] != nil { $0["fields"] = [:] } }
    },
    Corruption("a field more than was saved", breaking: [116, 171, 204]) { answer in
        answer.items { item in
            guard var fields = item["fields"]?.objectValue else { return }
            fields["body"] = ["value": "ghost", "type": "STRING"]
            item["fields"] = .object(fields)
        }
    },
    Corruption("deleted records as live ones", breaking: [121, 223, 242, 264]) { answer in
        answer.items { if $0["deleted"] == true { $0["deleted"] = false } }
    },
    Corruption("always more to come", breaking: [144, 241]) { answer in
        // Only where nothing came, so that clients which go on until the end do end.
        guard var zones = answer.body["zones"]?.arrayValue, answer.path.contains("changes/zone") else { return }
        for index in zones.indices {
            guard var zone = zones[index].objectValue, zone["records"] == [] else { continue }
            zone["moreComing"] = true
            zones[index] = .object(zone)
        }
        answer.body["zones"] = .array(zones)
    },
    Corruption("never a second page", breaking: [350, 351, 353]) { answer in answer.body["continuationMarker"] = nil },
    Corruption("no next web token", breaking: [32, 34]) { answer in
        answer.headers[HTTPField.Name("X-Apple-CloudKit-Web-Auth-Token")!] = nil
    },
    Corruption("no address to sign in", breaking: [30]) { answer in answer.body["redirectURL"] = nil },
    Corruption("no UUID in errors", breaking: [3, 9, 15]) { answer in answer.body["uuid"] = nil },
    Corruption("another reason for all failures", breaking: [9, 53, 108, 193, 216, 245]) { answer in
        if answer.body["reason"] != nil { answer.body["reason"] = "something went wrong" }
        answer.items { if $0["reason"] != nil { $0["reason"] = "something went wrong" } }
    },
]

/// A transport that passes requests on, and spoils the answers.
struct CorruptingTransport: ClientTransport {
    var base: any ClientTransport
    var corruption: Corruption

    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?) {
        var (response, body) = try await base.send(request, body: body, baseURL: baseURL, operationID: operationID)
        let bytes: [UInt8] = if let body { try await Array(collecting: body, upTo: .max) } else { [] }
        let object = try? JSONReader.read(JSONValue.self, from: bytes).objectValue
        var answer = Answer(
            path: request.path ?? "",
            status: response.status.code,
            headers: response.headerFields,
            body: object ?? [:]
        )
        corruption.change(&answer)
        response.status = .init(code: answer.status)
        response.headerFields = answer.headers
        response.headerFields[.contentLength] = nil
        body = HTTPBody(object == nil ? bytes : try JSONWriter.bytes(of: JSONValue.object(answer.body)))
        return (response, body)
    }
}

extension CloudKitContract.Outcome {
    /// Whether the rule was checked and does not hold.
    fileprivate var isBroken: Bool {
        if case .broken = self { true } else { false }
    }
}
