public import StreamingJSON

/// The style of a form's member, if the document says one.
@_spi(Generated) public struct FormMemberStyle: Sendable {
    var style: ParameterStyle
    var explode: Bool

    /// Creates a style.
    public init(_ style: ParameterStyle, explode: Bool) {
        self.style = style
        self.explode = explode
    }
}

extension WritableMessage {
    /// Sets the body to the members of a value, URL-encoded, in the order of their names. A value without members, or a
    /// list of such values, has no names: `=1&=2`.
    @_spi(Generated) public mutating func setFormBody<T: JSONWritable>(
        _ value: T,
        contentType: String,
        styles: [String: FormMemberStyle] = [:]
    ) throws {
        try setFormBody(
            value,
            contentType: contentType,
            { value, writer in value.write(json: &writer) },
            styles: styles
        )
    }

    /// Sets the body to the members of a value that a closure writes, URL-encoded, in the order of their names.
    ///
    /// Each of several values of a member is written with the member's name, unless its style says otherwise.
    @_spi(Generated) public mutating func setFormBody<T>(
        _ value: T,
        contentType: String,
        _ write: (T, inout JSONWriter) -> Void,
        styles: [String: FormMemberStyle] = [:]
    ) throws {
        let bytes = try FormText.bytes(of: value, dates: configuration.dates, write, styles: styles)
        try setBody(HTTPBody(bytes), contentType: contentType)
    }
}

extension ReadableMessage {
    /// The body as the members of a value, URL-encoded.
    @_spi(Generated) public func form<T: JSONReadable>(
        _ shape: ParameterShape,
        _ type: T.Type,
        styles: [String: FormMemberStyle] = [:]
    ) throws -> T {
        try form(
            shape,
            { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) },
            styles: styles
        )
    }

    /// The body as the members of a value that a closure reads, URL-encoded.
    ///
    /// If a member occurs several times but is not an array in the shape, its first value counts. Members that the
    /// shape does not list are ignored.
    @_spi(Generated) public func form<T>(
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T,
        styles: [String: FormMemberStyle] = [:]
    ) throws -> T {
        try FormText.read(
            try bufferedBody(),
            shape,
            named: "body",
            dates: configuration.dates,
            read,
            styles: styles
        )
    }
}

/// The text of URL-encoded forms.
enum FormText {
    /// The members of a value that a closure writes, in the order of their names.
    static func bytes<T>(
        of value: T,
        dates: DateCoding,
        _ write: (T, inout JSONWriter) -> Void,
        styles: [String: FormMemberStyle]
    ) throws -> [UInt8] {
        let json = try ParameterEncoder.json(of: value, dates: dates, write)
        let jsonMembers = styles.filter { $0.value.style == .json }.map(\.key)
        let value = try ParameterValue(json: json, jsonMembers: Set(jsonMembers))
        guard case .members(let members) = value else {
            let items = try ParameterEncoder.items(value, named: "", style: .form, explode: true)
            return pluses(in: items.joined(separator: "&"))
        }
        let items = try members.flatMap { member in
            let style = styles[member.name] ?? FormMemberStyle(.form, explode: true)
            if style.style == .form, style.explode, case .members = member.value {
                // A reader could not distinguish its members from those of the form.
                throw GeneratedCodeError.nestedParameter(member.name)
            }
            return try ParameterEncoder.items(
                member.value,
                named: member.name,
                style: style.style,
                explode: style.explode
            )
        }
        // No plus of a value is left, because it is encoded. Every `%20` is a space, because a percent sign is `%25`.
        return pluses(in: items.joined(separator: "&"))
    }

    /// A value that a closure reads from its members.
    static func read<T>(
        _ bytes: ArraySlice<UInt8>,
        _ shape: ParameterShape,
        named name: String,
        dates: DateCoding,
        _ read: (inout JSONReader) throws(JSONError) -> T,
        styles: [String: FormMemberStyle]
    ) throws -> T {
        try ParameterDecoder.read(
            value(of: try members(of: bytes, shape, styles: styles), shape),
            shape,
            named: name,
            dates: dates,
            read
        )
    }

    /// The value that members stand for: itself, if it was written without names.
    private static func value(of members: [ParameterValue.Member], _ shape: ParameterShape) -> ParameterValue {
        if case .object = shape { return .members(members) }
        if members.isEmpty, shape.element != nil { return .list([]) }
        guard members.count == 1, members[0].name.isEmpty else { return .members(members) }
        return members[0].value
    }

    private static func pluses(in text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.starts(with: "20".utf8) {
                bytes.append(UInt8(ascii: "+"))
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// The members in the order of their first values, those with a style of their own at the end.
    private static func members(
        of bytes: ArraySlice<UInt8>,
        _ shape: ParameterShape,
        styles: [String: FormMemberStyle]
    ) throws -> [ParameterValue.Member] {
        let items = try bytes.split(separator: UInt8(ascii: "&")).map { item in
            guard let equals = item.firstIndex(of: UInt8(ascii: "=")) else {
                throw GeneratedCodeError.malformedForm(String(decoding: item.prefix(60), as: UTF8.self))
            }
            let value = String(decoding: spaced(item[(equals + 1)...]), as: UTF8.self)
            let name = String(decoding: PercentEncoding.decode(spaced(item[..<equals])), as: UTF8.self)
            return ParameterItem(name: name, value: value[...])
        }
        var members = MemberCollector()
        var styled: [ParameterValue.Member] = []
        for (name, style) in styles.sorted(by: { $0.key < $1.key }) {
            guard let member = shape.member(name) else { continue }
            let value = try items.parts(of: name, member, style: style.style, explode: style.explode)
            if let value { styled.append(ParameterValue.Member(name: name, value: value)) }
        }
        for item in items where styles.isEmpty || styles[item.owner] == nil {
            members.add(PercentEncoding.decode(item.value), to: item.name)
        }
        return members.members + styled
    }

    private static func spaced(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        bytes.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
    }
}

extension ParameterItem {
    /// The name of the member that the item belongs to: `k` in `k[a]=1`.
    fileprivate var owner: String {
        guard name.hasSuffix("]"), let bracket = name.utf8.firstIndex(of: UInt8(ascii: "[")) else { return name }
        return String(name[..<bracket])
    }
}
