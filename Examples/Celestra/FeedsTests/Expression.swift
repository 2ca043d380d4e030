/// An expectation of the suite of feeds: an expression in the part of Python that the suite uses.
///
///     not bozo and entries[0]['title'] == 'Example title'
indirect enum Expression {
    case literal(Value)
    case name(String)
    case member(Expression, Expression)
    case call(Expression, [Expression])
    case not(Expression)
    case and(Expression, Expression)
    case or(Expression, Expression)
    case compare(Expression, [(comparison: String, operand: Expression)])
    case list([Expression])
    case dictionary([(Expression, Expression)])

    /// A value of an expression.
    indirect enum Value: Equatable {
        case none
        case bool(Bool)
        case number(Double)
        case string(String)
        case date(FeedInstant)
        case list([Value])
        case dictionary([String: Value])
        /// A value that this evaluator does not check: whether the feed is well-formed, which another test checks.
        case unjudged
    }

    /// Why an expression has no value, for instance because of a missing key.
    struct Failure: Error {
        var message: String
    }

    // MARK: - Evaluation

    func evaluate(_ names: [String: Value]) throws(Failure) -> Value {
        switch self {
        case .literal(let value): return value
        case .name(let name):
            guard let value = names[name] else { throw Failure(message: "no \(name)") }
            return value
        case .member(let object, let key): return try Self.member(object.evaluate(names), key.evaluate(names))
        case .call(let function, let arguments): return try Self.call(function, arguments, names)
        case .not(let operand):
            let value = try operand.evaluate(names)
            return value == .unjudged ? .unjudged : .bool(!value.isTrue)
        case .and(let left, let right):
            let value = try left.evaluate(names)
            return value.isTrue ? try right.evaluate(names) : value
        case .or(let left, let right):
            // The suite has alternatives of which either side may be missing.
            if let value = try? left.evaluate(names), value.isTrue { return value }
            return try right.evaluate(names)
        case .compare(let first, let rest):
            var left = try first.evaluate(names)
            for (comparison, operand) in rest {
                let right = try operand.evaluate(names)
                guard try Self.compare(left, comparison, right) else { return .bool(false) }
                left = right
            }
            return .bool(true)
        case .list(let elements):
            var values: [Value] = []
            for element in elements { values.append(try element.evaluate(names)) }
            return .list(values)
        case .dictionary(let pairs):
            var values: [String: Value] = [:]
            for (key, value) in pairs {
                guard case .string(let key) = try key.evaluate(names) else {
                    throw Failure(message: "a key that is no string")
                }
                values[key] = try value.evaluate(names)
            }
            return .dictionary(values)
        }
    }

    private static func member(_ object: Value, _ key: Value) throws(Failure) -> Value {
        switch (object, key) {
        case (.dictionary(let values), .string(let key)):
            // The suite has two names for addresses.
            guard let value = values[key] ?? (key == "url" ? values["href"] : nil) else {
                throw Failure(message: "no '\(key)'")
            }
            return value
        case (.list(let values), .number(let number)):
            guard values.indices.contains(Int(number)) else { throw Failure(message: "no element \(Int(number))") }
            return values[Int(number)]
        default: throw Failure(message: "no member \(key) of \(object)")
        }
    }

    private static func call(
        _ function: Expression,
        _ arguments: [Expression],
        _ names: [String: Value]
    ) throws(Failure) -> Value {
        guard let argument = try arguments.first?.evaluate(names) else {
            throw Failure(message: "a call without arguments")
        }
        switch function {
        case .name("len"):
            switch argument {
            case .list(let values): return .number(Double(values.count))
            case .dictionary(let values): return .number(Double(values.count))
            case .string(let text): return .number(Double(text.unicodeScalars.count))
            default: throw Failure(message: "len of \(argument)")
            }
        case .name("ord"):
            guard case .string(let text) = argument, text.unicodeScalars.count == 1,
                let scalar = text.unicodeScalars.first
            else { throw Failure(message: "ord of \(argument)") }
            return .number(Double(scalar.value))
        case .member(let object, .literal(.string("has_key"))):
            return .bool((try? member(object.evaluate(names), argument)) != nil)
        case .member(let object, .literal(.string("get"))):
            return (try? member(object.evaluate(names), argument)) ?? .none
        default:
            throw Failure(message: "an unknown function")
        }
    }

    private static func compare(_ left: Value, _ comparison: String, _ right: Value) throws(Failure) -> Bool {
        switch comparison {
        case "==", "is": return left.equals(right)
        case "!=": return !left.equals(right)
        case "in", "not in":
            guard case .dictionary(let values) = right, case .string(let key) = left else {
                throw Failure(message: "`in` something that is no dictionary")
            }
            return (values[key] != nil) == (comparison == "in")
        default: throw Failure(message: "the comparison \(comparison)")
        }
    }

    // MARK: - Subjects

    /// The keys below `feed` and `entries[n]` that the expression uses, such as `["title_detail", "base"]` for
    /// `feed['title_detail']['base']`, and all other names that it uses.
    var paths: [[String]] {
        switch self {
        case .literal: []
        case .name(let name): [[name]]
        case .member(let object, let key):
            if let path = path { [path] } else { object.paths + key.paths }
        case .call(let function, let arguments):
            if case .name = function { arguments.flatMap(\.paths) } else { function.paths + arguments.flatMap(\.paths) }
        case .not(let operand): operand.paths
        case .and(let left, let right), .or(let left, let right): left.paths + right.paths
        case .compare(let first, let rest): first.paths + rest.flatMap(\.operand.paths)
        case .list(let elements): elements.flatMap(\.paths)
        case .dictionary: []
        }
    }

    private var path: [String]? {
        switch self {
        case .name("feed"), .name("entries"): return []
        case .name(let name): return [name]
        case .member(let object, .literal(let key)):
            guard let start = object.path else { return nil }
            switch key {
            case .string("get"), .string("has_key"): return start
            case .string(let key): return start + [key]
            default: return start
            }
        default: return nil
        }
    }
}

extension Expression.Value {
    var isTrue: Bool {
        switch self {
        case .none: false
        case .bool(let value): value
        case .number(let value): value != 0
        case .string(let text): !text.isEmpty
        case .list(let values): !values.isEmpty
        case .dictionary(let values): !values.isEmpty
        case .date, .unjudged: true
        }
    }

    /// Python's equality: `True == 1`. A date equals a text that is parsed to the same time, since our values do not
    /// keep the text of dates.
    func equals(_ other: Self) -> Bool {
        switch (self, other) {
        case (.bool(let bool), .number(let number)), (.number(let number), .bool(let bool)):
            return number == (bool ? 1 : 0)
        case (.date(let instant), .string(let text)), (.string(let text), .date(let instant)):
            return FeedInstant(text) == instant
        case (.list(let left), .list(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { $0.equals($1) }
        case (.dictionary(let left), .dictionary(let right)):
            return left.count == right.count && left.allSatisfy { key, value in right[key].map(value.equals) ?? false }
        default:
            return self == other
        }
    }
}
