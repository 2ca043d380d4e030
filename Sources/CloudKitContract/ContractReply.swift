import HTTPTypes
import StreamingJSON

/// A reply of the service, with the checks that rules make of replies.
struct ContractReply: Sendable {
    /// The request of this reply, without its credentials.
    let request: String
    let status: Int
    let headers: HTTPFields
    let bytes: [UInt8]
    /// The body as JSON; `nil` if the body is not JSON.
    let body: JSONValue?
    private let comparesReasons: Bool

    init(request: String, status: Int, headers: HTTPFields, bytes: [UInt8], comparesReasons: Bool) {
        self.request = request
        self.status = status
        self.headers = headers
        self.bytes = bytes
        self.comparesReasons = comparesReasons
        body = try? JSONReader.read(JSONValue.self, from: bytes)
    }

    /// The status for each error code of a whole request (Apple's table of error codes).
    static let statuses: [String: Int] = [
        "ACCESS_DENIED": 403, "ATOMIC_ERROR": 400, "AUTHENTICATION_FAILED": 401, "AUTHENTICATION_REQUIRED": 421,
        "BAD_REQUEST": 400, "CONFLICT": 409, "EXISTS": 409, "INTERNAL_ERROR": 500, "NOT_FOUND": 404,
        "QUOTA_EXCEEDED": 413, "THROTTLED": 429, "TRY_AGAIN_LATER": 503, "VALIDATING_REFERENCE_ERROR": 412,
        "ZONE_NOT_FOUND": 404,
    ]
}

// MARK: - Expectations

extension ContractReply {
    /// A broken rule, as this reply shows it.
    func violation(_ difference: String, expected: String) -> ContractViolation {
        let text = String(decoding: bytes.prefix(3000), as: UTF8.self)
        return ContractViolation(
            rule: "",
            request: request,
            expected: expected,
            got: "\(status) \(body?.brief(3000) ?? text)",
            difference: difference
        )
    }

    func difference(from pattern: JSONPattern) -> String? {
        guard let body else { return "body: expected JSON" }
        return pattern.difference(from: body, comparingReasons: comparesReasons)
    }

    /// Checks that the reply has this status, and a body of this form.
    func expect(_ pattern: JSONPattern, status expected: Int = 200) throws {
        guard status == expected else {
            throw violation("status: expected \(expected), got \(status)", expected: "\(expected) \(pattern)")
        }
        if let difference = difference(from: pattern) {
            throw violation(difference, expected: "\(expected) \(pattern)")
        }
    }

    /// Checks another condition on the reply. `expected` describes it.
    func require(_ condition: Bool, _ expected: String) throws {
        guard condition else { throw violation("expected \(expected)", expected: expected) }
    }

    /// Checks that the reply succeeds and holds these records or failures, in this order.
    func expectRecords(_ patterns: [JSONPattern], and others: [String: JSONPattern] = [:]) throws {
        try expect(.including(["records": .array(patterns)].merging(others) { $1 }, without: ["serverErrorCode"]))
    }

    /// Checks that the reply succeeds and holds these records, in any order.
    func expectRecordsUnordered(_ patterns: [JSONPattern]) throws {
        try expect(.including(["records": .unordered(patterns)], without: ["serverErrorCode"]))
    }

    /// Checks that the reply succeeds and holds records of these names, in this order.
    func expectNames(_ names: [String]) throws {
        try expectRecords(names.map { .including(["recordName": .value(.string($0))], without: ["serverErrorCode"]) })
    }

    /// Checks that the reply succeeds and holds records of these names, in any order.
    func expectNames(unordered names: [String]) throws {
        let patterns = names.map { name in
            JSONPattern.including(["recordName": .value(.string(name))], without: ["serverErrorCode"])
        }
        try expect(.including(["records": .unordered(patterns)], without: ["serverErrorCode"]))
    }

    /// Checks that the reply succeeds and holds these zones or failures, in this order.
    func expectZones(_ patterns: [JSONPattern], and others: [String: JSONPattern] = [:]) throws {
        try expect(.including(["zones": .array(patterns)].merging(others) { $1 }, without: ["serverErrorCode"]))
    }

    /// Checks that the whole request failed with one of these codes, and with the status of the code.
    func expectError(_ codes: String..., reason: String? = nil) throws {
        let pattern = JSONPattern.topLevelFailure(codes, reason: reason)
        if let difference = difference(from: pattern) {
            throw violation(difference, expected: "\(pattern)")
        }
        let code = body?["serverErrorCode"]?.stringValue ?? ""
        if let expected = Self.statuses[code], expected != status {
            throw violation(
                "status: expected \(expected) for \(code), got \(status)",
                expected: "\(expected) \(pattern)"
            )
        }
    }
}

extension JSONPattern {
    /// The whole body of a request that failed.
    static func topLevelFailure(_ codes: [String], reason: String? = nil) -> JSONPattern {
        .object(
            Members(
                required: [
                    "uuid": .text,
                    "serverErrorCode": .anyOf(codes.map { .value(.string($0)) }),
                    "reason": reason.map(JSONPattern.reason) ?? .text,
                ],
                optional: ["retryAfter": .wholeNumber, "redirectURL": .text]
            )
        )
    }
}

// MARK: - Parts

extension ContractReply {
    var records: [JSONValue] { body?["records"]?.arrayValue ?? [] }
    var zones: [JSONValue] { body?["zones"]?.arrayValue ?? [] }
    var names: [String] { records.compactMap { $0["recordName"]?.stringValue } }

    /// The text at a path of keys in the body, which must not be absent or empty.
    func text(_ keys: String...) throws -> String {
        var value = body
        for key in keys { value = Int(key).map { value?[$0] } ?? value?[key] }
        guard let text = value?.stringValue, !text.isEmpty else {
            let path = keys.joined(separator: ".")
            throw violation("\(path): expected a text, got \(value?.brief ?? "nothing")", expected: "a text at \(path)")
        }
        return text
    }

    /// The change tag of one record of the reply.
    func tag(_ index: Int = 0) throws -> String {
        try text("records", "\(index)", "recordChangeTag")
    }

    /// One record of the reply, which must not be a failure.
    func record(_ index: Int = 0) throws -> JSONValue {
        guard status == 200, let record = body?["records"]?[index], record["serverErrorCode"] == nil else {
            throw violation("records[\(index)]: expected a record", expected: "a record at \(index)")
        }
        return record
    }
}
