import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How a parameter that is more than one text is spread over its place.
@_spi(Generated) public enum ParameterStyle: Sendable {
    /// `a=1&b=2`, `k=1&k=2` or `k=1,2`.
    case form
    /// `1,2`.
    case simple
    /// `k[a]=1&k[b]=2`.
    case deepObject
}

/// What the text of a parameter stands for. Text has no types of its own, the document has.
@_spi(Generated) public indirect enum ParameterShape: Sendable {
    /// Text as it is.
    case string
    /// Digits.
    case number
    /// `true` or `false`.
    case boolean
    /// Several of one shape.
    case array(ParameterShape)
    /// Named members.
    case object([String: ParameterShape], additional: ParameterShape?)
    /// The first that can be read.
    case choice([ParameterShape])
    /// Whatever the text looks like.
    case any
}

/// A parameter's value between its Swift type and its text.
enum ParameterValue {
    case text(String)
    case list([String])
    /// Members in the order of their names.
    case members([(name: String, values: [String])])

    /// Takes a value apart by way of the JSON it writes.
    init(_ value: JSONValue, named name: String) throws {
        switch value {
        case .array(let elements):
            self = .list(
                try elements.map { (element: JSONValue) in
                    guard let text = ParameterValue.text(of: element) else {
                        throw GeneratedCodeError.nestedParameter(name)
                    }
                    return text
                }
            )
        case .object(let members):
            let sorted: [(key: String, value: JSONValue)] = members.sorted { $0.key.lowercased() < $1.key.lowercased() }
            var result: [(name: String, values: [String])] = []
            for (key, member) in sorted {
                if case .null = member { continue }
                if case .array(let elements) = member {
                    let texts: [String] = elements.compactMap { ParameterValue.text(of: $0) }
                    guard texts.count == elements.count else { throw GeneratedCodeError.nestedParameter(name) }
                    result.append((key, texts))
                } else if let text = ParameterValue.text(of: member) {
                    result.append((key, [text]))
                } else {
                    throw GeneratedCodeError.nestedParameter(name)
                }
            }
            self = .members(result)
        default:
            self = .text(ParameterValue.text(of: value) ?? "")
        }
    }

    private static func text(of value: JSONValue) -> String? {
        switch value {
        case .null: ""
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .double(let value): String(value)
        case .string(let value): value
        case .array, .object: nil
        default: "\(value)"
        }
    }
}

/// Values to the text of parameters.
enum ParameterEncoder {
    /// Takes a value apart.
    static func value<T>(
        of value: T,
        named name: String,
        dates: any DateTranscoder,
        _ write: (T, inout JSONWriter) -> Void
    ) throws -> ParameterValue {
        if let text = value as? String { return .text(text) }
        if let number = value as? Int { return .text(String(number)) }
        let json: JSONValue = try CurrentConfiguration.$dateTranscoder.withValue(dates) {
            var writer = JSONWriter()
            write(value, &writer)
            return try JSONReader.read(from: try writer.finish())
        }
        return try ParameterValue(json, named: name)
    }

    /// `1`, `1,2` or `a,1,b,2`: paths and header fields.
    static func simple(_ value: ParameterValue) -> String {
        switch value {
        case .text(let text): PercentEncoding.encode(text)
        case .list(let texts): texts.map(PercentEncoding.encode).joined(separator: ",")
        case .members(let members):
            members.flatMap { (name: String, values: [String]) in
                values.flatMap { [PercentEncoding.encode(name), PercentEncoding.encode($0)] }
            }.joined(separator: ",")
        }
    }

    /// The items of a query, without what joins them to others.
    static func query(
        _ value: ParameterValue,
        named name: String,
        style: ParameterStyle,
        explode: Bool
    ) throws -> String {
        let key: String = PercentEncoding.encode(name)
        switch (value, style) {
        case (.text(let text), .form): return "\(key)=\(PercentEncoding.encode(text))"
        case (.list(let texts), .form):
            if texts.isEmpty { return "" }
            if explode { return texts.map { "\(key)=\(PercentEncoding.encode($0))" }.joined(separator: "&") }
            return "\(key)=\(texts.map(PercentEncoding.encode).joined(separator: ","))"
        case (.members(let members), .form):
            if members.isEmpty { return "" }
            guard explode else { return "\(key)=\(simple(value))" }
            return members.flatMap { (name: String, values: [String]) in
                values.map { "\(PercentEncoding.encode(name))=\(PercentEncoding.encode($0))" }
            }.joined(separator: "&")
        case (.members(let members), .deepObject):
            return members.flatMap { (member: String, values: [String]) in
                values.map { "\(key)%5B\(PercentEncoding.encode(member))%5D=\(PercentEncoding.encode($0))" }
            }.joined(separator: "&")
        case (_, .deepObject), (_, .simple):
            throw GeneratedCodeError.nestedParameter(name)
        }
    }
}

/// The text of parameters to values.
enum ParameterDecoder {
    /// Reads a value from parts that are decoded already.
    static func read<T>(
        _ parts: ParameterValue,
        _ shape: ParameterShape,
        named name: String,
        dates: any DateTranscoder,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) throws -> T {
        var firstError: (any Error)?
        for shape in alternatives(shape) {
            do {
                var writer = JSONWriter()
                try write(parts, shape, named: name, to: &writer)
                let bytes: [UInt8] = try writer.finish()
                return try CurrentConfiguration.$dateTranscoder.withValue(dates) {
                    try JSONReader.withReader(over: bytes.span) { (reader: inout JSONReader) throws(JSONError) -> T in
                        try read(&reader)
                    }
                }
            } catch {
                firstError = firstError ?? error
            }
        }
        throw GeneratedCodeError.malformedParameter(name, firstError)
    }

    /// Every shape that a value may have, a choice's in its order.
    private static func alternatives(_ shape: ParameterShape) -> [ParameterShape] {
        if case .choice(let shapes) = shape { return shapes.flatMap(alternatives) }
        if case .array(.choice(let shapes)) = shape { return shapes.flatMap(alternatives).map { .array($0) } }
        return [shape]
    }

    /// `a,b` as text, list or members, by the shape. `isEncoded` is false where somebody took the percent-encoding away.
    static func simple(
        _ text: some StringProtocol,
        _ shape: ParameterShape,
        isEncoded: Bool = true
    ) -> ParameterValue {
        let decode: (Substring) -> String = { isEncoded ? PercentEncoding.decode($0) : String($0) }
        switch shape {
        case .array: return .list(split(text, decode))
        case .object:
            let parts: [String] = split(text, decode)
            var members: [(name: String, values: [String])] = []
            for index in stride(from: 0, to: parts.count - 1, by: 2) {
                add(parts[index + 1], to: parts[index], in: &members)
            }
            return .members(members)
        case .choice(let shapes):
            let isStructured: Bool = shapes.contains { if case .array = $0 { true } else { false } }
            return isStructured ? .list(split(text, decode)) : .text(decode(Substring(text)))
        case .string, .number, .boolean, .any: return .text(decode(Substring(text)))
        }
    }

    static func add(
        _ value: String,
        to name: String,
        in members: inout [(name: String, values: [String])]
    ) {
        if let index = members.firstIndex(where: { $0.name == name }) {
            members[index].values.append(value)
        } else {
            members.append((name, [value]))
        }
    }

    private static func split(_ text: some StringProtocol, _ decode: (Substring) -> String) -> [String] {
        if text.isEmpty { return [] }
        return text.split(separator: ",", omittingEmptySubsequences: false).map { decode(Substring($0)) }
    }

    private static func write(
        _ parts: ParameterValue,
        _ shape: ParameterShape,
        named name: String,
        to writer: inout JSONWriter
    ) throws {
        switch parts {
        case .text(let text):
            if case .array(let element) = shape {
                writer.beginArray()
                try write(text, element, named: name, to: &writer)
                writer.endArray()
            } else {
                try write(text, shape, named: name, to: &writer)
            }
        case .list(let texts):
            guard case .array(let element) = shape else {
                // Of several values for one, the first counts.
                try write(texts.first ?? "", shape, named: name, to: &writer)
                return
            }
            writer.beginArray()
            for text in texts { try write(text, element, named: name, to: &writer) }
            writer.endArray()
        case .members(let members):
            var known: [String: ParameterShape] = [:]
            var additional: ParameterShape? = .any
            if case .object(let shapes, let other) = shape {
                known = shapes
                additional = other
            }
            writer.beginObject()
            for (key, values) in members {
                guard let shape = known[key] ?? additional else { continue }
                writer.key(key)
                try write(.list(values), shape, named: "\(name).\(key)", to: &writer)
            }
            writer.endObject()
        }
    }

    private static func write(
        _ text: String,
        _ shape: ParameterShape,
        named name: String,
        to writer: inout JSONWriter
    ) throws {
        switch shape {
        case .string: writer.write(text)
        case .number:
            guard let value = number(text) else { throw GeneratedCodeError.malformedParameter(name, nil) }
            writer.writeRaw(value)
        case .boolean:
            guard text == "true" || text == "false" else { throw GeneratedCodeError.malformedParameter(name, nil) }
            writer.write(text == "true")
        case .any:
            if text == "true" || text == "false" {
                writer.write(text == "true")
            } else if let value = number(text) {
                writer.writeRaw(value)
            } else {
                writer.write(text)
            }
        case .choice(let shapes):
            for shape in shapes {
                if (try? check(text, shape)) != nil {
                    try write(text, shape, named: name, to: &writer)
                    return
                }
            }
            throw GeneratedCodeError.malformedParameter(name, nil)
        case .array, .object: throw GeneratedCodeError.malformedParameter(name, nil)
        }
    }

    private static func check(_ text: String, _ shape: ParameterShape) throws {
        var writer = JSONWriter()
        try write(text, shape, named: "", to: &writer)
    }

    private static func number(_ text: String) -> JSONRawValue? {
        guard let first = text.utf8.first, first == UInt8(ascii: "-") || (0x30...0x39).contains(first) else {
            return nil
        }
        return try? JSONRawValue(parsing: text)
    }
}
