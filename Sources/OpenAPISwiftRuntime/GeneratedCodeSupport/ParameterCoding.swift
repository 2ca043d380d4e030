import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The location of parameters that are sent as items `name=value`. The raw value names such a parameter in errors.
@_spi(Generated) public enum ItemLocation: String, Sendable {
    /// The query of the URL.
    case query = "query parameter"
    /// The header field `Cookie`.
    case cookie
}

/// How a parameter with several values or members is written.
@_spi(Generated) public enum ParameterStyle: Sendable {
    /// `a=1&b=2`, `k=1&k=2` or `k=1,2`.
    case form
    /// `1,2`.
    case simple
    /// `k[a]=1&k[b]=2`, and `k[a][b]=1` for members of members.
    case deepObject
    /// `k=1%202`.
    case spaceDelimited
    /// `k=1%7C2`.
    case pipeDelimited
    /// `k=1; k=2`. Nothing is percent-encoded.
    case cookie
    /// `k={"a":1}`, percent-encoded.
    case json
    /// `;k=1;k=2`, `;a=1;b=2` or `;k=1,2`, in paths.
    case matrix
    /// `.1.2`, `.a=1.b=2` or `.1,2`, in paths.
    case label
}

/// How the text of a parameter becomes JSON. The text does not say its type, so the document has to.
@_spi(Generated) public indirect enum ParameterShape: Sendable {
    /// A string.
    case string
    /// Digits.
    case number
    /// `true` or `false`.
    case boolean
    /// A list of values of one shape.
    case array(ParameterShape)
    /// A list of values of one shape that is a required member. An empty list writes nothing, so a missing member is
    /// read as an empty list.
    case requiredArray(ParameterShape)
    /// Named members.
    case object([String: ParameterShape], additional: ParameterShape?)
    /// The first of several shapes with which the text can be read.
    case choice([ParameterShape])
    /// Any value: the form of the text decides its type.
    case any
    /// JSON text.
    case json

    /// The shape of the elements of a list; nil for other shapes.
    var element: ParameterShape? {
        switch self {
        case .array(let element), .requiredArray(let element): element
        default: nil
        }
    }

    /// Whether no value of the parameter is an empty text.
    var isNumberOrBoolean: Bool {
        switch self {
        case .number, .boolean: true
        default: false
        }
    }

    /// Whether the parameter can have members.
    var isObject: Bool {
        switch self {
        case .object: true
        case .choice(let shapes): shapes.contains(where: \.isObject)
        default: false
        }
    }

    /// Whether the text is split into several values.
    var isDivided: Bool {
        switch self {
        case .array, .requiredArray, .object: true
        case .choice(let shapes): shapes.contains(where: \.isDivided)
        case .string, .number, .boolean, .any, .json: false
        }
    }
}

extension ParameterShape {
    /// The shape of a member; nil if a member of this name is not possible.
    func member(_ name: String) -> ParameterShape? {
        switch self {
        case .object(let known, let additional): known[name] ?? additional
        case .choice(let shapes): shapes.lazy.compactMap { $0.member(name) }.first
        default: nil
        }
    }
}

/// A parameter's value between its Swift type and its text.
indirect enum ParameterValue {
    struct Member {
        var name: String
        var value: ParameterValue
    }

    case text(String)
    case list([String])
    /// Members in the order of their names.
    case members([Member])
    /// A list of lists or objects. Only the style `deepObject` can write it.
    case elements([ParameterValue])

    /// Creates a parameter's value from the JSON of a Swift value.
    ///
    /// The text of a number is taken from the JSON unchanged, so the digits of a `Float` or of a large integer stay the
    /// same.
    init(json bytes: [UInt8], jsonMembers: Set<String> = []) throws(JSONError) {
        self = try JSONReader.withReader(over: bytes.span) { (reader: inout JSONReader) throws(JSONError) in
            try ParameterValue.read(&reader, jsonMembers: jsonMembers) ?? .text("")
        }
    }

    /// Reads a value; nil for `null`.
    private static func read(
        _ reader: inout JSONReader,
        jsonMembers: Set<String>
    ) throws(JSONError) -> ParameterValue? {
        switch try reader.peekKind() {
        case .object:
            var members: [Member] = []
            try reader.beginObject()
            while let name: String = try reader.nextKey() {
                if jsonMembers.contains(name) {
                    if try reader.readNullIfPresent() { continue }
                    members.append(Member(name: name, value: .text(try reader.readRawValue().description)))
                } else if let value = try read(&reader, jsonMembers: []) {
                    members.append(Member(name: name, value: value))
                }
            }
            let keys = members.map { $0.name.lowercased() }
            return .members(members.indices.sorted { keys[$0] < keys[$1] }.map { members[$0] })
        case .array:
            var elements: [ParameterValue] = []
            try reader.beginArray()
            while try reader.nextElement() {
                elements.append(try read(&reader, jsonMembers: []) ?? .text(""))
            }
            let texts = elements.compactMap { if case .text(let text) = $0 { text } else { nil } }
            return texts.count == elements.count ? .list(texts) : .elements(elements)
        case .string: return .text(try reader.readString())
        case .null:
            try reader.readNull()
            return nil
        default: return .text(try reader.readRawValue().description)
        }
    }

    /// The value in the form that the document asks for, where a server accepts more.
    /// - Returns: `nil` if the value counts as absent.
    func corrected(by reading: LenientReading, _ shape: ParameterShape) -> ParameterValue? {
        if case .text("") = self, shape.isNumberOrBoolean, reading.contains(.emptyQueryItems) { return nil }
        guard reading.contains(.booleansInAnyCase), case .boolean = shape.element ?? shape else { return self }
        switch self {
        case .text(let text): return .text(text.lowercased())
        case .list(let texts): return .list(texts.map { $0.lowercased() })
        case .members, .elements: return self
        }
    }

    /// The texts of a value that has no members.
    fileprivate var texts: [String]? {
        switch self {
        case .text(let text): [text]
        case .list(let texts): texts
        case .members, .elements: nil
        }
    }
}

// MARK: - Writing

/// Writes values as the text of parameters.
enum ParameterEncoder {
    /// The JSON of a value, compact.
    static func json<T>(
        of value: T,
        dates: DateCoding,
        _ write: (T, inout JSONWriter) -> Void
    ) throws -> [UInt8] {
        var writer = JSONWriter(options: .sortedKeys, capacity: 64, userInfo: dates)
        write(value, &writer)
        return try writer.finish()
    }

    /// Creates a parameter's value from a Swift value. The members named in `jsonMembers` become JSON text.
    static func value<T>(
        of value: T,
        dates: DateCoding,
        jsonMembers: Set<String> = [],
        _ write: (T, inout JSONWriter) -> Void
    ) throws -> ParameterValue {
        if let text = value as? String { return .text(text) }
        if let number = value as? Int { return .text(String(number)) }
        let json = try json(of: value, dates: dates, write)
        if let text = plainText(json) { return .text(text) }
        return try ParameterValue(json: json, jsonMembers: jsonMembers)
    }

    /// The text of a JSON string in which nothing is escaped, such as a case of an enumeration; nil for any other JSON.
    private static func plainText(_ json: [UInt8]) -> String? {
        let quote = UInt8(ascii: "\"")
        guard json.count >= 2, json[0] == quote, json[json.count - 1] == quote else { return nil }
        let content = json[1..<json.count - 1]
        return content.contains(UInt8(ascii: "\\")) ? nil : String(decoding: content, as: UTF8.self)
    }

    /// `1`, `1,2` or `a,1,b,2`: paths and header fields.
    static func simple(
        _ value: ParameterValue,
        named name: String,
        _ encode: (String) throws -> String = { PercentEncoding.encode($0) }
    ) throws -> String {
        switch value {
        case .text(let text): try encode(text)
        case .list(let texts): try texts.map(encode).joined(separator: ",")
        case .members(let members): try pairs(members, named: name).map(encode).joined(separator: ",")
        case .elements: throw GeneratedCodeError.nestedParameter(name)
        }
    }

    /// The text of a placeholder with the style `matrix` or `label`, as RFC 6570 expands `{;k}`, `{;k*}`, `{.k}` and
    /// `{.k*}`.
    static func prefixed(
        _ value: ParameterValue,
        named name: String,
        style: ParameterStyle,
        explode: Bool
    ) throws -> String {
        let text = try style == .matrix ? matrix(value, named: name, explode) : label(value, named: name, explode)
        // Without a text, the path would be the path of another operation.
        guard !text.isEmpty else { throw GeneratedCodeError.emptyPathParameter(name) }
        return text
    }

    private static func matrix(_ value: ParameterValue, named name: String, _ explode: Bool) throws -> String {
        try items(value, named: name, style: .form, explode: explode)
            // A name with an empty text stands alone.
            .map { ";" + ($0.hasSuffix("=") ? String($0.dropLast()) : $0) }
            .joined()
    }

    private static func label(_ value: ParameterValue, named name: String, _ explode: Bool) throws -> String {
        let parts: [String]
        switch value {
        case .text(let text): return ".\(PercentEncoding.encode(text))"
        case .list(let texts):
            if texts.isEmpty { return "" }
            guard explode else { return try ".\(simple(value, named: name))" }
            parts = texts.map { PercentEncoding.encode($0) }
        case .members(let members):
            if members.isEmpty { return "" }
            guard explode else { return try ".\(simple(value, named: name))" }
            parts = try members.flatMap { member in
                guard let texts = member.value.texts else { throw GeneratedCodeError.nestedParameter(name) }
                return texts.map { "\(PercentEncoding.encode(member.name))=\(PercentEncoding.encode($0))" }
            }
        case .elements: throw GeneratedCodeError.nestedParameter(name)
        }
        // Percent-encoding leaves a period as it is, so a text with a period would be ambiguous.
        guard !parts.contains(where: { $0.contains(".") }) else {
            throw GeneratedCodeError.delimiterInParameter(name, ".")
        }
        return parts.map { ".\($0)" }.joined()
    }

    /// The items of a query or the cookies, each `name=value`.
    static func items(
        _ value: ParameterValue,
        named name: String,
        style: ParameterStyle,
        explode: Bool
    ) throws -> [String] {
        let encode: (String) throws -> String =
            switch style {
            case .cookie: { try CookieText.checked($0, named: name) }
            default: { PercentEncoding.encode($0) }
            }
        let key = try encode(name)
        switch style {
        case .deepObject:
            switch value {
            case .text: throw GeneratedCodeError.nestedParameter(name)
            case .list(let texts): return deepItems(texts.map { .text($0) }, below: key)
            case .members, .elements: return deepItems(value, below: key)
            }
        case .spaceDelimited, .pipeDelimited:
            return try delimitedItems(value, named: name, delimiter: style == .spaceDelimited ? " " : "|")
        case .simple, .matrix, .label: throw GeneratedCodeError.nestedParameter(name)
        case .form, .cookie, .json: break
        }
        switch value {
        case .text(let text): return ["\(key)=\(try encode(text))"]
        case .list(let texts):
            if texts.isEmpty { return [] }
            if explode { return try texts.map { "\(key)=\(try encode($0))" } }
            return ["\(key)=\(try simple(value, named: name, encode))"]
        case .members(let members):
            if members.isEmpty { return [] }
            guard explode else { return ["\(key)=\(try simple(value, named: name, encode))"] }
            return try members.flatMap { member in
                guard let texts = member.value.texts else { throw GeneratedCodeError.nestedParameter(name) }
                let key = try encode(member.name)
                return try texts.map { "\(key)=\(try encode($0))" }
            }
        case .elements: throw GeneratedCodeError.nestedParameter(name)
        }
    }

    /// Names and values in turn. A name is repeated for each of its values.
    private static func pairs(_ members: [ParameterValue.Member], named name: String) throws -> [String] {
        try members.flatMap { member in
            guard let texts = member.value.texts else { throw GeneratedCodeError.nestedParameter(name) }
            return texts.flatMap { [member.name, $0] }
        }
    }

    /// `k[a]=1&k[b][c]=2`. A list of texts repeats the name; the elements of other lists are named by their indices.
    private static func deepItems(_ value: ParameterValue, below key: String) -> [String] {
        switch value {
        case .text(let text): ["\(key)=\(PercentEncoding.encode(text))"]
        case .list(let texts): texts.map { "\(key)=\(PercentEncoding.encode($0))" }
        case .members(let members):
            members.flatMap { deepItems($0.value, below: "\(key)%5B\(PercentEncoding.encode($0.name))%5D") }
        case .elements(let elements): deepItems(elements, below: key)
        }
    }

    private static func deepItems(_ elements: [ParameterValue], below key: String) -> [String] {
        elements.enumerated().flatMap { deepItems($0.element, below: "\(key)%5B\($0.offset)%5D") }
    }

    private static func delimitedItems(
        _ value: ParameterValue,
        named name: String,
        delimiter: Character
    ) throws -> [String] {
        let texts: [String]
        switch value {
        case .text(let text): texts = [text]
        case .list(let elements): texts = elements
        case .members(let members): texts = try pairs(members, named: name)
        case .elements: throw GeneratedCodeError.nestedParameter(name)
        }
        if texts.isEmpty { return [] }
        // The delimiter is percent-encoded like the text around it, so a text with a delimiter would be ambiguous.
        guard texts.count == 1 || !texts.contains(where: { $0.contains(delimiter) }) else {
            throw GeneratedCodeError.delimiterInParameter(name, delimiter)
        }
        let separator = PercentEncoding.encode(String(delimiter))
        let text = texts.map { PercentEncoding.encode($0) }.joined(separator: separator)
        return ["\(PercentEncoding.encode(name))=\(text)"]
    }
}

// MARK: - Taking text apart

/// Collects members as they are found. Each may occur several times.
struct MemberCollector {
    private(set) var members: [ParameterValue.Member] = []
    private var indices: [String: Int] = [:]

    mutating func add(_ text: String, to name: String) {
        guard let index = indices[name] else {
            indices[name] = members.count
            members.append(ParameterValue.Member(name: name, value: .text(text)))
            return
        }
        switch members[index].value {
        case .text(let first): members[index].value = .list([first, text])
        case .list(var texts):
            // Releases the first reference to the texts, so that `append` does not copy them.
            members[index].value = .text("")
            texts.append(text)
            members[index].value = .list(texts)
        case .members, .elements: break
        }
    }
}

/// An item of a query, or a cookie: a decoded name, and a value that is still encoded.
struct ParameterItem: Sendable {
    var name: String
    var value: Substring
}

extension [ParameterItem] {
    /// The texts of a parameter, or nil if it is absent.
    func parts(
        of name: String,
        _ shape: ParameterShape,
        style: ParameterStyle,
        explode: Bool,
        _ decode: (Substring) -> String = { PercentEncoding.decode($0) }
    ) throws -> ParameterValue? {
        switch style {
        case .deepObject: return try ParameterDecoder.deepMembers(named: name, in: self, decode)
        case .form, .cookie:
            if explode, shape.isObject {
                var members = MemberCollector()
                for item in self where shape.member(item.name) != nil { members.add(decode(item.value), to: item.name) }
                if !members.members.isEmpty { return .members(members.members) }
                return nil
            }
            if explode {
                let texts = compactMap { $0.name == name ? decode($0.value) : nil }
                return texts.isEmpty ? nil : texts.count == 1 ? .text(texts[0]) : .list(texts)
            }
        case .json, .simple, .spaceDelimited, .pipeDelimited, .matrix, .label: break
        }
        guard let text = first(where: { $0.name == name })?.value else { return nil }
        switch style {
        case .json: return .text(decode(text))
        case .spaceDelimited: return try ParameterDecoder.delimited(text, shape, named: name, by: .space, decode)
        case .pipeDelimited: return try ParameterDecoder.delimited(text, shape, named: name, by: .pipe, decode)
        default: return try ParameterDecoder.delimited(text, shape, named: name, by: .comma, decode)
        }
    }
}

/// Reads values from the text of parameters.
enum ParameterDecoder {
    /// The separator between the texts of a list.
    enum Delimiter {
        case comma
        case space
        case pipe

        fileprivate var spellings: [String] {
            switch self {
            case .comma: [","]
            case .space: ["%20", " "]
            case .pipe: ["|", "%7C", "%7c"]
            }
        }
    }

    /// Splits `a,b` into a text, a list or members; the shape decides which. A closure decodes each text.
    static func delimited(
        _ text: Substring,
        _ shape: ParameterShape,
        named name: String,
        by delimiter: Delimiter = .comma,
        _ decode: (Substring) -> String = { PercentEncoding.decode($0) }
    ) throws -> ParameterValue {
        switch shape {
        case .array, .requiredArray: return .list(split(text, by: delimiter, decode))
        case .object:
            let parts = split(text, by: delimiter, decode)
            guard parts.count.isMultiple(of: 2) else { throw GeneratedCodeError.malformedParameter(name, nil) }
            var members = MemberCollector()
            for index in stride(from: 0, to: parts.count, by: 2) {
                members.add(parts[index + 1], to: parts[index])
            }
            return .members(members.members)
        case .choice(let shapes):
            // A choice that contains an array is read as a list, also if there is only one text.
            if let object = shapes.first(where: \.isObject), !shapes.contains(where: { $0.element != nil }) {
                return try delimited(text, object, named: name, by: delimiter, decode)
            }
            return shapes.contains { $0.element != nil }
                ? .list(split(text, by: delimiter, decode)) : .text(decode(text))
        case .string, .number, .boolean, .any, .json: return .text(decode(text))
        }
    }

    /// Splits the text of a placeholder with the style `matrix` or `label`.
    static func prefixed(
        _ text: Substring,
        _ shape: ParameterShape,
        named name: String,
        style: ParameterStyle,
        explode: Bool,
        _ decode: (Substring) -> String
    ) throws -> ParameterValue {
        let separator: Character = style == .matrix ? ";" : "."
        guard text.first == separator else { throw GeneratedCodeError.malformedParameter(name, nil) }
        let rest = text.dropFirst()
        let parts = rest.split(separator: separator, omittingEmptySubsequences: false)
        func item(_ part: Substring) -> ParameterItem {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return ParameterItem(name: decode(pair.first ?? ""), value: pair.count > 1 ? pair[1] : "")
        }
        if style == .matrix {
            let value = try parts.map(item).parts(of: name, shape, style: .form, explode: explode, decode)
            guard let value else { throw GeneratedCodeError.malformedParameter(name, nil) }
            return value
        }
        guard explode else { return try delimited(rest, shape, named: name, decode) }
        switch shape {
        case .array, .requiredArray: return .list(parts.map(decode))
        case .choice(let shapes) where shapes.contains(where: { $0.element != nil }): return .list(parts.map(decode))
        case _ where shape.isObject:
            var members = MemberCollector()
            for part in parts {
                let item = item(part)
                members.add(decode(item.value), to: item.name)
            }
            return .members(members.members)
        default: return .text(decode(rest))
        }
    }

    private static func split(
        _ text: Substring,
        by delimiter: Delimiter,
        _ decode: (Substring) -> String
    ) -> [String] {
        if text.isEmpty { return [] }
        var parts: [Substring] = [text]
        for spelling in delimiter.spellings where text.contains(spelling) {
            parts = parts.flatMap { $0.split(separator: spelling, omittingEmptySubsequences: false) }
        }
        return parts.map(decode)
    }

    /// The maximum number of levels of names in `k[a][b]=1`.
    private static let maximumDepth = 32

    /// The members behind `k[a]=1&k[b][c]=2`, or nil if the name does not occur.
    static func deepMembers(
        named name: String,
        in items: [ParameterItem],
        _ decode: (Substring) -> String
    ) throws -> ParameterValue? {
        var leaves: [(path: ArraySlice<Substring>, text: String)] = []
        let prefix = "\(name)["
        for item in items where item.name.hasPrefix(prefix) && item.name.hasSuffix("]") {
            let inner = item.name.dropFirst(prefix.count).dropLast()
            var path = inner.split(separator: "][", omittingEmptySubsequences: false)
            // `k[a][]=1` is one element of a list.
            if path.count > 1, path.last == "" { path.removeLast() }
            guard path.count <= maximumDepth else { throw GeneratedCodeError.malformedParameter(name, nil) }
            leaves.append((path[...], decode(item.value)))
        }
        return leaves.isEmpty ? nil : tree(leaves)
    }

    private static func tree(_ leaves: [(path: ArraySlice<Substring>, text: String)]) -> ParameterValue {
        var groups: [(name: Substring, leaves: [(path: ArraySlice<Substring>, text: String)])] = []
        var indices: [Substring: Int] = [:]
        for leaf in leaves {
            // A text is ignored if there are members below the same name.
            guard let name = leaf.path.first else { continue }
            if let index = indices[name] {
                groups[index].leaves.append((leaf.path.dropFirst(), leaf.text))
            } else {
                indices[name] = groups.count
                groups.append((name, [(leaf.path.dropFirst(), leaf.text)]))
            }
        }
        return .members(
            groups.map { group in
                let value: ParameterValue
                if group.leaves.contains(where: { !$0.path.isEmpty }) {
                    value = tree(group.leaves)
                } else {
                    value = group.leaves.count == 1 ? .text(group.leaves[0].text) : .list(group.leaves.map(\.text))
                }
                return ParameterValue.Member(name: String(group.name), value: value)
            }
        )
    }

    // MARK: Reading

    /// Reads a value from decoded parts.
    static func read<T>(
        _ parts: ParameterValue,
        _ shape: ParameterShape,
        named name: String,
        dates: DateCoding,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) throws -> T {
        var firstError: (any Error)?
        for shape in alternatives(shape) {
            do {
                var writer = JSONWriter(capacity: 64)
                try write(parts, shape, named: name, to: &writer)
                let bytes = try writer.finish()
                return try JSONReader.withReader(over: bytes.span, options: .init(dates: dates), read)
            } catch {
                firstError = firstError ?? error
            }
        }
        throw GeneratedCodeError.malformedParameter(name, firstError)
    }

    /// Every shape that a value may have. The shapes of a choice keep their order.
    private static func alternatives(_ shape: ParameterShape) -> [ParameterShape] {
        if case .choice(let shapes) = shape { return shapes.flatMap(alternatives) }
        if case .array(.choice(let shapes)) = shape { return shapes.flatMap(alternatives).map { .array($0) } }
        return [shape]
    }

    private static func write(
        _ parts: ParameterValue,
        _ shape: ParameterShape,
        named name: String,
        to writer: inout JSONWriter
    ) throws {
        switch parts {
        case .text(let text):
            if let element = shape.element {
                writer.beginArray()
                try write(text, element, named: name, to: &writer)
                writer.endArray()
            } else {
                try write(text, shape, named: name, to: &writer)
            }
        case .list(let texts):
            var element: ParameterShape? = shape.element
            if case .any = shape, texts.count > 1 { element = .any }
            guard let element else {
                // The first of several texts counts if the shape is not a list.
                try write(texts.first ?? "", shape, named: name, to: &writer)
                return
            }
            writer.beginArray()
            for text in texts { try write(text, element, named: name, to: &writer) }
            writer.endArray()
        case .members(let members):
            try write(members, shape, named: name, to: &writer)
        case .elements: throw GeneratedCodeError.malformedParameter(name, nil)
        }
    }

    private static func write(
        _ members: [ParameterValue.Member],
        _ shape: ParameterShape,
        named name: String,
        to writer: inout JSONWriter
    ) throws {
        switch shape {
        case .object(let known, let additional):
            writer.beginObject()
            var missing: Set<String> = []
            for (key, shape) in known {
                if case .requiredArray = shape { missing.insert(key) }
            }
            for member in members {
                guard let shape = known[member.name] ?? additional else { continue }
                missing.remove(member.name)
                writer.key(member.name)
                try write(member.value, shape, named: "\(name).\(member.name)", to: &writer)
            }
            for key in missing {
                writer.key(key)
                writer.beginArray()
                writer.endArray()
            }
            writer.endObject()
        case .array(let element), .requiredArray(let element):
            // `k[0]=a&k[1]=b`: the names are indices.
            writer.beginArray()
            for member in members {
                if case .list(let texts) = member.value {
                    // `k[]=a&k[]=b`.
                    for text in texts { try write(text, element, named: name, to: &writer) }
                } else {
                    try write(member.value, element, named: name, to: &writer)
                }
            }
            writer.endArray()
        case .any:
            writer.beginObject()
            for member in members {
                writer.key(member.name)
                try write(member.value, .any, named: name, to: &writer)
            }
            writer.endObject()
        case .choice(let shapes):
            guard let object = shapes.first(where: \.isObject) else {
                throw GeneratedCodeError.malformedParameter(name, nil)
            }
            try write(members, object, named: name, to: &writer)
        case .string, .number, .boolean, .json: throw GeneratedCodeError.malformedParameter(name, nil)
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
        case .json:
            do {
                writer.writeRaw(try JSONRawValue(parsing: text))
            } catch {
                throw GeneratedCodeError.malformedParameter(name, error)
            }
        case .array, .requiredArray, .object: throw GeneratedCodeError.malformedParameter(name, nil)
        }
    }

    private static func check(_ text: String, _ shape: ParameterShape) throws {
        var writer = JSONWriter(capacity: 64)
        try write(text, shape, named: "", to: &writer)
    }

    private static func number(_ text: String) -> JSONRawValue? {
        guard let first = text.utf8.first, first == UInt8(ascii: "-") || (0x30...0x39).contains(first) else {
            return nil
        }
        return try? JSONRawValue(parsing: text)
    }
}
