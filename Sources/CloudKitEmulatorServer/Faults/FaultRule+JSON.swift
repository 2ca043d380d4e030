import CloudKitEmulator
import CloudKitModel
import HTTPTypes
package import StreamingJSON

/// The form of fault rules in JSON, for `mistkit emulator --faults` and the administration.
///
/// Each rule has the name of a fault with its options, and which requests it affects:
///
/// ```json
/// [
///   { "fault": "throttle", "retryAfter": 3, "on": "records/modify", "calls": { "first": 2 } },
///   { "fault": "loseReply", "in": "private", "calls": { "every": 5 } }
/// ]
/// ```
extension FaultRule {
    /// What is wrong with a rule.
    package struct JSONProblem: Error {
        /// The number of the rule, from 1.
        package let rule: Int
        /// The end of a sentence about the rule, without a full stop.
        package let text: String
    }

    /// The names of the faults.
    package static var faultNames: [String] { kinds.map(\.name) }

    /// Reads rules.
    ///
    /// - Parameter values: The rules in JSON.
    /// - Returns: The rules.
    /// - Throws: A ``JSONProblem`` for the first rule with a mistake.
    package static func rules(from values: [JSONValue]) throws(JSONProblem) -> [FaultRule] {
        var rules: [FaultRule] = []
        for (index, value) in values.enumerated() {
            do throws(Problem) {
                guard case .object(let members) = value else { throw Problem("is no object") }
                rules.append(try rule(Members(members)))
            } catch {
                throw JSONProblem(rule: index + 1, text: error.text)
            }
        }
        return rules
    }

    /// The rule in JSON.
    package var json: JSONValue {
        var members = fault.members
        if let endpoint { members["on"] = .string(endpoint) }
        if let database { members["in"] = .string(database.rawValue) }
        if let calls = calls.json { members["calls"] = calls }
        if let identity { members["by"] = .string(identity.text) }
        if probability != 1 { members["probability"] = .double(probability) }
        if seed != 0 { members["seed"] = .integer(Int64(clamping: seed)) }
        return .object(members)
    }

    private static func rule(_ members: Members) throws(Problem) -> FaultRule {
        guard let name = try members.text("fault") else { throw Problem("has no \"fault\"") }
        guard let kind = kinds.first(where: { $0.name == name }) else {
            throw Problem("has no known fault: \"\(name)\"")
        }
        let known = Self.filters + kind.options
        if let unknown = members.names.first(where: { !known.contains($0) }) {
            throw Problem("has the key \"\(unknown)\"; a rule of \(name) has \(known.joined(separator: ", "))")
        }
        var scope: DatabaseScope?
        if let text = try members.text("in") {
            scope = DatabaseScope(rawValue: text)
            if scope == nil { throw Problem("has the database \"\(text)\"; there are public, private and shared") }
        }
        let identity = try members.text("by")
        guard identity?.isEmpty != true else {
            throw Problem(#"has "by", which is empty; give `nobody`, `server` or a user record name"#)
        }
        let probability = try members.decimal("probability") ?? 1
        guard (0...1).contains(probability) else {
            throw Problem("has \"probability\", which is not a number from 0 to 1")
        }
        return FaultRule(
            try kind.make(members),
            on: try members.text("on"),
            in: scope,
            calls: try calls(members),
            by: identity.map { Identity($0) },
            probability: probability,
            seed: UInt64(try members.number("seed", from: 0) ?? 0)
        )
    }

    /// The members that every rule can have.
    package static let filters = ["fault", "on", "in", "by", "calls", "probability", "seed"]

    /// Which of the matching requests a rule applies to: `"all"`, or an object with one key. The first without it.
    private static func calls(_ members: Members) throws(Problem) -> FaultRule.Calls {
        switch members["calls"] {
        case nil: return .first(1)
        case .string("all")?: return .all
        case .object(let object)? where object.count == 1:
            let inner = Members(object)
            for (name, calls) in callKinds {
                if let number = try inner.number(name, from: 1) { return calls(number) }
            }
        default: break
        }
        throw Problem(
            #"has "calls" that are neither "all" nor an object such as {"first":2}, with first, only, from or every"#
        )
    }

    private static let callKinds: [(name: String, calls: @Sendable (Int) -> FaultRule.Calls)] = [
        ("first", { .first($0) }), ("only", { .only($0) }), ("from", { .from($0) }), ("every", { .every($0) }),
    ]

    // MARK: Faults

    /// A fault that a file can name.
    private struct Kind: Sendable {
        let name: String
        let options: [String]
        let make: @Sendable (Members) throws(Problem) -> Fault

        init(_ name: String, _ options: [String] = [], _ make: @escaping @Sendable (Members) throws(Problem) -> Fault) {
            (self.name, self.options, self.make) = (name, options, make)
        }
    }

    private static let kinds: [Kind] = [
        Kind("loseRequest") { _ in .loseRequest },
        Kind("loseReply") { _ in .loseReply },
        Kind("resetReply", ["bytes"]) { members throws(Problem) in
            .resetReply(afterBytes: try members.number("bytes", from: 0) ?? 10)
        },
        Kind("hang", ["seconds"]) { members throws(Problem) in
            try members.seconds("seconds").map { .hang(for: $0) } ?? .hang
        },
        Kind("throttle", ["retryAfter", "retryAfterField"]) { members throws(Problem) in
            .throttle(retryAfter: try members.decimal("retryAfter"), header: try members.fieldValue("retryAfterField"))
        },
        Kind("refuse", ["code", "status", "reason", "retryAfter", "retryAfterField"]) { members throws(Problem) in
            .refuse(
                try members.code(),
                status: try members.number("status", from: 400, through: 599),
                reason: try members.text("reason"),
                retryAfter: try members.decimal("retryAfter"),
                header: try members.fieldValue("retryAfterField")
            )
        },
        Kind("refuseItems", ["code", "reason", "records", "retryAfter"]) { members throws(Problem) in
            .refuseItems(
                try members.code(),
                named: try members.texts("records"),
                reason: try members.text("reason"),
                retryAfter: try members.decimal("retryAfter")
            )
        },
        Kind("undeliveredRecords", ["code", "records"]) { members throws(Problem) in
            .undeliveredRecords(
                named: try members.texts("records"),
                code: try members.text("code").map { ServerErrorCode(rawValue: $0) } ?? .internalError
            )
        },
        Kind("expiredToken") { _ in .expiredToken },
        Kind("misdirected") { _ in .misdirected },
        Kind("htmlPage", ["status"]) { members throws(Problem) in
            .htmlPage(status: try members.number("status", from: 200, through: 599) ?? 503)
        },
        Kind("emptyReply", ["status", "retryAfterField"]) { members throws(Problem) in
            .emptyReply(
                status: try members.number("status", from: 200, through: 599) ?? 503,
                header: try members.fieldValue("retryAfterField")
            )
        },
        Kind("invalidJSON") { _ in .invalidJSON },
        Kind("truncateReply", ["bytes"]) { members throws(Problem) in
            .truncateReply(afterBytes: try members.number("bytes", from: 0) ?? 10)
        },
        Kind("contentType", ["type"]) { members throws(Problem) in
            guard let type = try members.fieldValue("type") else {
                throw Problem(#"has no "type", such as text/plain"#)
            }
            return .contentType(type)
        },
        Kind("slowReply", ["bytes", "seconds"]) { members throws(Problem) in
            .slowReply(
                chunkSize: try members.number("bytes", from: 1) ?? 10,
                pause: try members.seconds("seconds") ?? .zero
            )
        },
        Kind("delay", ["seconds"]) { members throws(Problem) in
            .delay(try members.seconds("seconds") ?? .seconds(1))
        },
        Kind("clockSkew", ["seconds"]) { members throws(Problem) in
            .clockSkew(seconds: try members.decimal("seconds") ?? 0)
        },
    ]

    // MARK: Values

    /// What is wrong with a rule: the end of a sentence about it.
    private struct Problem: Error {
        let text: String

        init(_ text: String) {
            self.text = text
        }
    }

    /// The members of a rule.
    private struct Members: Sendable {
        private let values: [String: JSONValue]

        init(_ values: [String: JSONValue]) {
            self.values = values
        }

        var names: [String] { values.keys.sorted() }

        subscript(_ name: String) -> JSONValue? { values[name] }

        func text(_ name: String) throws(Problem) -> String? {
            guard let value = values[name] else { return nil }
            guard case .string(let text) = value else { throw Problem("has \"\(name)\", which is not a text") }
            return text
        }

        func texts(_ name: String) throws(Problem) -> Set<String>? {
            guard let value = values[name] else { return nil }
            let texts = value.arrayValue?.map(\.stringValue)
            guard let texts, !texts.contains(nil) else {
                throw Problem("has \"\(name)\", which is not a list of texts")
            }
            return Set(texts.compactMap(\.self))
        }

        func number(_ name: String, from least: Int, through most: Int = .max) throws(Problem) -> Int? {
            guard let value = values[name] else { return nil }
            guard case .integer(let number) = value, let number = Int(exactly: number), least <= number, number <= most
            else {
                let range = most == .max ? "from \(least)" : "from \(least) to \(most)"
                throw Problem("has \"\(name)\", which is not a whole number \(range)")
            }
            return number
        }

        func decimal(_ name: String) throws(Problem) -> Double? {
            switch values[name] {
            case nil: nil
            case .integer(let number)?: Double(number)
            case .double(let number)?: number
            default: throw Problem("has \"\(name)\", which is not a number")
            }
        }

        func seconds(_ name: String) throws(Problem) -> Duration? {
            guard let number = try decimal(name) else { return nil }
            guard (0...1e9).contains(number) else { throw Problem("has \"\(name)\", which is not a number of seconds") }
            return .seconds(number)
        }

        /// A text that can be the value of a header field.
        func fieldValue(_ name: String) throws(Problem) -> String? {
            guard let text = try text(name) else { return nil }
            guard HTTPField.isValidValue(text) else {
                throw Problem("has \"\(name)\", which cannot be the value of a header field")
            }
            return text
        }

        func code() throws(Problem) -> ServerErrorCode {
            guard let text = try text("code"), !text.isEmpty else {
                throw Problem("has no \"code\", such as INTERNAL_ERROR")
            }
            return ServerErrorCode(rawValue: text)
        }
    }
}

extension FaultRule.Calls {
    /// The numbers in JSON; `nil` for the first request alone, which a rule without `calls` affects.
    fileprivate var json: JSONValue? {
        func member(_ name: String, _ number: Int) -> JSONValue { [name: .integer(Int64(number))] }
        switch (first, last, step) {
        case (1, 1, 1): return nil
        case (1, .max, 1): return "all"
        case (1, _, 1): return member("first", last)
        case (_, .max, 1): return member("from", first)
        case (_, .max, _): return member("every", step)
        default: return member("only", first)
        }
    }
}

extension Fault {
    /// The name of the fault, and its options where they differ from the defaults.
    fileprivate var members: [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        func set(_ name: String, _ value: JSONValue?) { members[name] = value }
        func number(_ number: Int) -> JSONValue { .integer(Int64(number)) }
        func seconds(_ duration: Duration) -> JSONValue {
            .double(Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18)
        }
        func setItems(_ items: ItemFault) {
            set("code", .string(items.error.serverErrorCode.rawValue))
            set("records", items.names.map { .array($0.sorted().map { .string($0) }) })
        }
        switch kind {
        case .loseRequest: set("fault", "loseRequest")
        case .loseReply: set("fault", "loseReply")
        case .reset(let count):
            set("fault", "resetReply")
            set("bytes", number(count))
        case .hang(let duration):
            set("fault", "hang")
            set("seconds", seconds(duration))
        case .fail(let failure, let header):
            // `throttle` and `expiredToken` are refusals with a code, too.
            let error = failure.error
            set("fault", "refuse")
            set("code", .string(error.serverErrorCode.rawValue))
            set("status", number(failure.status.code))
            set("reason", error.reason.map { .string($0) })
            set("retryAfter", error.retryAfter.map { .double($0) })
            set("retryAfterField", header.map { .string($0) })
        case .failItems(let items):
            set("fault", "refuseItems")
            setItems(items)
            set("reason", .string(items.error.reason))
            set("retryAfter", items.error.retryAfter.map { .double($0) })
        case .failDelivery(let items):
            set("fault", "undeliveredRecords")
            setItems(items)
        case .answer(let response, let body):
            let isPage = response.headerFields[.contentType]?.hasPrefix("text/html") == true
            set("fault", .string(body == nil ? "emptyReply" : isPage ? "htmlPage" : "misdirected"))
            if body == nil || isPage { set("status", number(response.status.code)) }
            set("retryAfterField", response.headerFields[.retryAfter].map { .string($0) })
        case .garble: set("fault", "invalidJSON")
        case .truncate(let count):
            set("fault", "truncateReply")
            set("bytes", number(count))
        case .contentType(let type):
            set("fault", "contentType")
            set("type", .string(type))
        case .slow(let size, let pause):
            set("fault", "slowReply")
            set("bytes", number(size))
            set("seconds", seconds(pause))
        case .delay(let duration):
            set("fault", "delay")
            set("seconds", seconds(duration))
        case .clockSkew(let value):
            set("fault", "clockSkew")
            set("seconds", .double(value))
        }
        return members
    }
}
