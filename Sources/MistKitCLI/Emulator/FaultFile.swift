import ArgumentParser
import CloudKitEmulatorServer
import CloudKitModel
import Foundation
import StreamingJSON

/// The fault rules of a file, for `mistkit emulator --faults`.
///
/// The file is an array in JSON. Each rule has the name of a fault with its options, and which requests it affects:
///
/// ```json
/// [
///   { "fault": "throttle", "retryAfter": 3, "on": "records/modify", "calls": { "first": 2 } },
///   { "fault": "loseReply", "in": "private", "calls": { "every": 5 } }
/// ]
/// ```
struct FaultFile {
    let rules: [FaultRule]

    /// Reads a file.
    ///
    /// - Throws: A ``CommandError`` that names the rule and the key.
    init(path: String) throws(CommandError) {
        guard let data = FileManager.default.contents(atPath: path) else { throw .unreadable(path) }
        rules = try Self.rules(in: [UInt8](data), of: path)
    }

    static func rules(in bytes: [UInt8], of path: String) throws(CommandError) -> [FaultRule] {
        let values: [JSONValue]
        do {
            values = try JSONReader.read([JSONValue].self, from: bytes)
        } catch {
            throw CommandError(
                code: .data,
                message: "\(path) is not an array of rules in JSON: \(error)",
                remedy: #"Write rules such as [{"fault":"throttle","retryAfter":3,"on":"records/modify"}]."#
            )
        }
        var rules: [FaultRule] = []
        for (index, value) in values.enumerated() {
            do throws(Problem) {
                guard case .object(let members) = value else { throw Problem("is no object") }
                rules.append(try rule(Members(members)))
            } catch {
                throw CommandError(
                    code: .data,
                    message: "Rule \(index + 1) of \(path) \(error.text).",
                    remedy: "The faults are \(kinds.map(\.name).joined(separator: ", "))."
                )
            }
        }
        return rules
    }

    private static func rule(_ members: Members) throws(Problem) -> FaultRule {
        guard let name = try members.text("fault") else { throw Problem("has no \"fault\"") }
        guard let kind = kinds.first(where: { $0.name == name }) else {
            throw Problem("has no known fault: \"\(name)\"")
        }
        let known = ["fault", "on", "in", "calls"] + kind.options
        if let unknown = members.names.first(where: { !known.contains($0) }) {
            throw Problem("has the key \"\(unknown)\"; a rule of \(name) has \(known.joined(separator: ", "))")
        }
        var scope: DatabaseScope?
        if let text = try members.text("in") {
            scope = DatabaseScope(rawValue: text)
            if scope == nil { throw Problem("has the database \"\(text)\"; there are public, private and shared") }
        }
        return FaultRule(try kind.make(members), on: try members.text("on"), in: scope, calls: try calls(members))
    }

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
        Kind("throttle", ["retryAfter"]) { members throws(Problem) in
            .throttle(retryAfter: try members.decimal("retryAfter"))
        },
        Kind("refuse", ["code", "status", "reason", "retryAfter"]) { members throws(Problem) in
            let (code, status) = (try members.code(), try members.number("status", from: 400, through: 599))
            let retryAfter = try members.decimal("retryAfter")
            guard let reason = try members.text("reason") else {
                return .refuse(code, status: status, retryAfter: retryAfter)
            }
            return .refuse(code, status: status, reason: reason, retryAfter: retryAfter)
        },
        Kind("refuseItems", ["code", "records", "retryAfter"]) { members throws(Problem) in
            .refuseItems(
                try members.code(),
                named: try members.texts("records"),
                retryAfter: try members.decimal("retryAfter")
            )
        },
        Kind("undeliveredRecords", ["records"]) { members throws(Problem) in
            .undeliveredRecords(named: try members.texts("records"))
        },
        Kind("expiredToken") { _ in .expiredToken },
        Kind("misdirected") { _ in .misdirected },
        Kind("htmlPage", ["status"]) { members throws(Problem) in
            .htmlPage(status: try members.number("status", from: 200, through: 599) ?? 503)
        },
        Kind("emptyReply", ["status"]) { members throws(Problem) in
            .emptyReply(status: try members.number("status", from: 200, through: 599) ?? 503)
        },
        Kind("invalidJSON") { _ in .invalidJSON },
        Kind("truncateReply", ["bytes"]) { members throws(Problem) in
            .truncateReply(afterBytes: try members.number("bytes", from: 0) ?? 10)
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
    struct Problem: Error {
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

        func code() throws(Problem) -> ServerErrorCode {
            guard let text = try text("code"), !text.isEmpty else {
                throw Problem("has no \"code\", such as INTERNAL_ERROR")
            }
            return ServerErrorCode(rawValue: text)
        }
    }
}
