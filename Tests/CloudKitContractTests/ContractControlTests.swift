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

/// Checks the contract suite itself: it has to detect a service that responds wrongly.
@Suite(.serialized)
struct ContractControlTests {
    @Test(arguments: corruptions)
    func corruptedAnswersBreakRules(corruption: Corruption) async throws {
        try await withCloudKitEmulator { emulator in
            let transport = CorruptingTransport(base: emulator.transport, corruption: corruption)
            let target = try emulator.contractTarget(through: transport)
            let rules = CloudKitContract.rules.filter { corruption.breaks.contains($0.name) }
            let broken = await CloudKitContract.run(rules, against: target).filter(\.outcome.isBroken)
            #expect(Set(broken.map(\.rule.name)) == corruption.breaks)
        }
    }

    /// The suite also detects an emulator whose limits differ from the service's.
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
            let names: Set = [
                "a request signed an hour ago is refused",
                "zone names are not empty, not longer than 255 characters, ASCII, and do not begin with _",
                "record names are not empty, not longer than 255 characters, ASCII, and do not begin with _",
                "a request takes 200 operations",
                "a record of more than 1 MB is refused, and the rest of the batch is saved",
                "a record type has at most 256 fields",
                "at most 750 references with DELETE_SELF lead to one record",
                "450 changes come in pages of 200, 200 and 50, each with a token",
                "resultsLimit makes pages of changes smaller, and never larger than 200",
                "IN with 251 values is refused",
                "450 records come in pages of 200, 200 and 50, in one order",
                "resultsLimit makes pages of records smaller, and never larger than 200",
            ]
            let rules = CloudKitContract.rules.filter { names.contains($0.name) }
            let broken = await CloudKitContract.run(rules, against: try emulator.contractTarget()).filter(
                \.outcome.isBroken
            )
            #expect(Set(broken.map(\.rule.name)) == names)
        }
    }

    /// No rule accepts an empty response.
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
            let rule = try #require(
                CloudKitContract.rules.first {
                    $0.name == "lookup answers in the order asked, missing records included"
                }
            )
            let target = try emulator.contractTarget(through: transport)
            let violation = try await #require(throws: ContractViolation.self) {
                try await rule.verify(against: target)
            }
            #expect(violation.rule == "lookup answers in the order asked, missing records included")
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

/// A way in which a service could be wrong, and the rules that have to detect it.
struct Corruption: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The names of the rules.
    var breaks: Set<String>
    var change: @Sendable (inout Answer) -> Void

    init(_ description: String, breaking rules: Set<String>, change: @escaping @Sendable (inout Answer) -> Void) {
        testDescription = description
        breaks = rules
        self.change = change
    }
}

/// A response on its way to the client, which a corruption changes.
struct Answer {
    var path: String
    var status: Int
    var headers: HTTPFields
    var body: [String: JSONValue]

    /// Changes each item of the arrays `records` and `zones`, and of `records` within `zones`.
    mutating func items(_ change: (inout [String: JSONValue]) -> Void) {
        body = Self.changingItems(of: body, change)
    }

    /// Changes the array `records`, if there is one.
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
    Corruption(
        "items in another order",
        breaking: [
            "the result of an operation stands at its place, failures included",
            "lookup answers in the order asked, missing records included",
            "numbers are sorted ascending by default",
        ]
    ) { answer in answer.records { $0.reverse() } },
    Corruption(
        "items without their codes",
        breaking: [
            "deleting a zone that does not exist is a failure",
            "create of an existing record, with no change tag is refused as CONFLICT, or is refused as EXISTS",
            "update with an old change tag is refused as CONFLICT",
            "update of a record that does not exist, with a change tag is refused as NOT_FOUND",
            "an atomic batch with one bad operation changes nothing: no record, no tag, no feed",
        ]
    ) { answer in
        answer.items { $0["serverErrorCode"] = nil }
    },
    Corruption(
        "failed items as successes",
        breaking: [
            "a user does not write a record that another user made",
            "create without a record type is refused, and nothing is saved",
            "replace with an old change tag is refused as CONFLICT",
            "an untyped whole number in a field of doubles is refused, and changes nothing",
            "a VALIDATE reference needs its target",
        ]
    ) { answer in
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
    Corruption(
        "failed requests as successes",
        breaking: [
            "a body that is not JSON, or no object, is refused",
            "private and shared databases need a user: the error says where to sign in",
            "a signed request whose body was changed is refused",
            "records of an unknown zone are a failure of the request",
            "a filter on a field that no record has is refused",
        ]
    ) { answer in
        guard answer.status >= 400 else { return }
        answer.status = 200
        answer.body = ["records": [], "zones": []]
    },
    Corruption(
        "failed requests with the status 500",
        breaking: [
            "the body of a failed request has a uuid, a code and a reason, and the status is the code's",
            "a body that is not JSON, or no object, is refused",
            "private and shared databases need a user: the error says where to sign in",
            "a signed request whose body was changed is refused",
            "records of an unknown zone are a failure of the request",
            "a filter on a field that no record has is refused",
        ]
    ) { answer in
        if answer.status >= 400 { answer.status = 500 }
    },
    Corruption(
        "one code for all failures",
        breaking: [
            "private and shared databases need a user: the error says where to sign in",
            "with the API token alone, nothing can be created: the request is refused, or each record",
            "update of a record that does not exist, with a change tag is refused as NOT_FOUND",
            "lookup answers in the order asked, missing records included",
            "a string that is not a token is an error of the zone",
        ]
    ) { answer in
        if answer.body["serverErrorCode"] != nil { answer.body["serverErrorCode"] = "INTERNAL_ERROR" }
        answer.items { if $0["serverErrorCode"] != nil { $0["serverErrorCode"] = "INTERNAL_ERROR" } }
    },
    Corruption(
        "one change tag for all records",
        breaking: [
            "update with the present change tag changes the fields sent and keeps the others",
            "forceUpdate with the present change tag changes the fields sent and keeps the others",
            "the name of a deleted record is free, and its old change tags stay invalid",
            "each write gives a change tag that the record never had",
        ]
    ) { answer in
        answer.items { if $0["recordChangeTag"] != nil { $0["recordChangeTag"] = "same" } }
    },
    Corruption(
        "one item missing",
        breaking: [
            "the result of an operation stands at its place, failures included",
            "a request takes 200 operations",
            "lookup answers in the order asked, missing records included",
        ]
    ) { answer in
        answer.records { if $0.count > 1 { $0.removeLast() } }
    },
    Corruption(
        "one item twice",
        breaking: [
            "lookup answers in the order asked, missing records included",
            "a query without filters gives all records of the type, and of no other",
            "EQUALS compares texts, numbers, dates, references and bytes; absent fields never match",
        ]
    ) { answer in
        answer.records { if let last = $0.last { $0.append(last) } }
    },
    Corruption(
        "fields without types",
        breaking: [
            "a text without a type is a STRING",
            "lists keep order and duplicates, and come back with a list type of their own",
            "a LOCATION keeps all that is said of it",
        ]
    ) { answer in
        answer.items { item in
            item["fields"] = item["fields"]?.objectValue.map { fields in
                .object(fields.mapValues { $0["value"].map { ["value": $0] } ?? $0 })
            }
        }
    },
    Corruption(
        "records without fields",
        breaking: [
            "what a user creates carries the user's record name",
            "update with the present change tag changes the fields sent and keeps the others",
            "desiredKeys limits the fields of replies, and nothing else of a record",
            "an encrypted field comes back as plain text, marked isEncrypted",
        ]
    ) { answer in
        answer.items { if $0["fields"] != nil { $0["fields"] = [:] } }
    },
    Corruption(
        "a field more than was saved",
        breaking: [
            "replace with the present change tag replaces the whole set of fields",
            "an empty list of desiredKeys gives no fields",
            "fields that were never set are absent",
        ]
    ) { answer in
        answer.items { item in
            guard var fields = item["fields"]?.objectValue else { return }
            fields["body"] = ["value": "ghost", "type": "STRING"]
            item["fields"] = .object(fields)
        }
    },
    Corruption(
        "deleted records as live ones",
        breaking: [
            "delete with the present change tag deletes it",
            "deleting a record deletes what refers to it with DELETE_SELF, over all levels",
            "after a change and a deletion, changes/zone gives the record and a tombstone",
            "changes/database gives deleted zones as deleted",
        ]
    ) { answer in
        answer.items { if $0["deleted"] == true { $0["deleted"] = false } }
    },
    Corruption(
        "always more to come",
        breaking: [
            "the sync token of a modify stands after the write: its changes are known",
            "with the last token and nothing new, changes/zone gives nothing and the same token",
        ]
    ) { answer in
        // Only if there are no records, so that clients which fetch until the end do end.
        guard var zones = answer.body["zones"]?.arrayValue, answer.path.contains("changes/zone") else { return }
        for index in zones.indices {
            guard var zone = zones[index].objectValue, zone["records"] == [] else { continue }
            zone["moreComing"] = true
            zones[index] = .object(zone)
        }
        answer.body["zones"] = .array(zones)
    },
    Corruption(
        "never a second page",
        breaking: [
            "450 records come in pages of 200, 200 and 50, in one order",
            "resultsLimit makes pages of records smaller, and never larger than 200",
            "a marker used twice gives the same page twice",
        ]
    ) { answer in answer.body["continuationMarker"] = nil },
    Corruption(
        "no next web token",
        breaking: [
            "each reply to a user carries the next web token, and that one is good",
            "an error to a user carries the next web token, too",
        ]
    ) { answer in
        answer.headers[HTTPField.Name("X-Apple-CloudKit-Web-Auth-Token")!] = nil
    },
    Corruption(
        "no address to sign in",
        breaking: [
            "private and shared databases need a user: the error says where to sign in"
        ]
    ) { answer in answer.body["redirectURL"] = nil },
    Corruption(
        "no UUID in errors",
        breaking: [
            "the body of a failed request has a uuid, a code and a reason, and the status is the code's",
            "an unknown endpoint is an error like any other",
            "a body that is not JSON, or no object, is refused",
        ]
    ) { answer in answer.body["uuid"] = nil },
    Corruption(
        "another reason for all failures",
        breaking: [
            "an unknown endpoint is an error like any other",
            "with the API token alone, nothing can be created: the request is refused, or each record",
            "update with an old change tag is refused as CONFLICT",
            "an untyped whole number in a field of doubles is refused, and changes nothing",
            "an encrypted field cannot be filtered by",
            "a string that is not a token is an error of the zone",
        ]
    ) { answer in
        if answer.body["reason"] != nil { answer.body["reason"] = "something went wrong" }
        answer.items { if $0["reason"] != nil { $0["reason"] = "something went wrong" } }
    },
]

/// A transport that passes requests on, and corrupts the responses.
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
