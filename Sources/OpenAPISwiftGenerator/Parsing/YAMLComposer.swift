import CYaml

/// Composes the nodes of a YAML text from the events of libyaml.
///
/// Yams composes nodes, too. It compares and hashes the keys of each mapping with everything below them, which does not
/// end for a key that is an alias of aliases, and it regards keys as equal that differ in their bytes.
///
/// An alias stands for the value that it names, so a few lines with aliases of aliases can become more values than the
/// memory holds, or nest deeper than the stack allows. Both are limited.
struct YAMLComposer {
    /// A value, and what limits need to know about it where an alias repeats it.
    private struct Composed {
        var node: DocumentNode
        /// The size of the value with its aliases written out.
        var size: Int
        /// The number of levels below the value.
        var height: Int
        /// The text of a scalar as it is written.
        var text: String?
    }

    /// The maximum number of levels.
    private static let maximumDepth = 512

    private let source: SourceText
    private let events: YAMLEvents
    private var anchors: [String: Composed] = [:]
    /// The size that values may still have. The limit is above the size that a text can have without aliases.
    private var room: Int
    private var depth = 0

    /// Composes the only document of a text; `nil` for a text without one.
    static func compose(_ source: SourceText) throws(Diagnostic) -> DocumentNode? {
        var composer = YAMLComposer(source)
        return try composer.document()
    }

    private init(_ source: SourceText) {
        self.source = source
        events = YAMLEvents(source)
        room = ExpansionLimit.room(for: source)
    }

    private mutating func document() throws(Diagnostic) -> DocumentNode? {
        _ = try events.next()
        guard try events.next().kind == .documentStart else { return nil }
        let root = try value(for: try events.next())
        _ = try events.next()
        let end = try events.next()
        guard end.kind == .streamEnd else {
            throw invalid(
                "but found another document",
                at: end.position,
                remedy: "keep one document in the file: remove what follows the second '---'"
            )
        }
        return root.node
    }

    private mutating func value(for event: YAMLEvents.Event) throws(Diagnostic) -> Composed {
        depth += 1
        defer { depth -= 1 }
        let composed: Composed
        switch event.kind {
        case .alias(let name):
            guard let target = anchors[name] else {
                throw invalid(
                    "found undefined alias '*\(name)'",
                    at: event.position,
                    remedy: "an alias names a value that ends before it: '&\(name)'"
                )
            }
            try take(target.size)
            try checkDepth(depth + target.height, at: event.position)
            return target
        case .scalar(let text, let isPlain):
            let size = ExpansionLimit.size(of: text)
            try take(size)
            try checkDepth(depth, at: event.position)
            let content = isPlain ? DocumentParser.plainContent(of: text) : .string(text)
            composed = Composed(
                node: DocumentNode(content: content, position: event.position),
                size: size,
                height: 0,
                text: text
            )
        case .sequenceStart:
            try checkDepth(depth, at: event.position)
            composed = try sequence(from: event.position)
        case .mappingStart:
            try checkDepth(depth, at: event.position)
            composed = try mapping(from: event.position)
        case .streamStart, .documentStart, .documentEnd, .sequenceEnd, .mappingEnd, .streamEnd:
            throw invalid("a value is missing", at: event.position)
        }
        if let anchor = event.anchor { anchors[anchor] = composed }
        return composed
    }

    private mutating func sequence(from position: SourcePosition) throws(Diagnostic) -> Composed {
        try take(1)
        var elements: [DocumentNode] = []
        var size = 1
        var height = 0
        while true {
            let event = try events.next()
            if event.kind == .sequenceEnd { break }
            let element = try value(for: event)
            elements.append(element.node)
            size += element.size
            height = max(height, element.height + 1)
        }
        return Composed(
            node: DocumentNode(content: .array(elements), position: position),
            size: size,
            height: height,
            text: nil
        )
    }

    private mutating func mapping(from position: SourcePosition) throws(Diagnostic) -> Composed {
        try take(1)
        var members: [DocumentNode.Member] = []
        var merged: [DocumentNode.Member] = []
        var keys = KeySet()
        var size = 1
        var height = 0
        while true {
            let event = try events.next()
            if event.kind == .mappingEnd { break }
            let key = try key(for: event)
            let value = try value(for: try events.next())
            size += value.size + key.size
            height = max(height, value.height + 1)
            if case .scalar("<<", isPlain: true) = event.kind {
                merged += try mergedMembers(of: value.node)
                continue
            }
            guard keys.insert(key.text) else {
                throw invalid("the same key appears twice: '\(key.text)'", at: event.position)
            }
            members.append(DocumentNode.Member(key: key.text, value: value.node))
        }
        for member in merged where keys.insert(member.key) { members.append(member) }
        return Composed(
            node: DocumentNode(content: .object(members), position: position),
            size: size,
            height: height,
            text: nil
        )
    }

    /// The text of a key. YAML distinguishes the keys `1` and `"1"`; in a document both are the key "1".
    private mutating func key(for event: YAMLEvents.Event) throws(Diagnostic) -> (text: String, size: Int) {
        let problem: String
        switch event.kind {
        case .sequenceStart: problem = "an array"
        case .mappingStart: problem = "an object"
        case .alias(let name) where anchors[name].map { $0.text == nil } == true:
            problem = "an alias of \(anchors[name]?.node.kindName ?? "a value")"
        default:
            let composed = try value(for: event)
            return (composed.text ?? "", composed.size)
        }
        throw Diagnostic(
            severity: .error,
            message: "A key is text, this is \(problem).",
            location: source.location(of: event.position),
            remedy: "quote text that begins with a brace, a bracket or an asterisk"
        )
    }

    /// The members that a `<<` key merges: those of one mapping, or of several, of which the first has precedence.
    private func mergedMembers(of value: DocumentNode) throws(Diagnostic) -> [DocumentNode.Member] {
        if let members = value.members { return members }
        guard let elements = value.elements, elements.allSatisfy({ $0.members != nil }) else {
            throw Diagnostic(
                severity: .error,
                message: "The key '<<' merges an object or a list of objects, this is \(value.kindName).",
                location: source.location(of: value.position)
            )
        }
        return elements.flatMap { $0.members ?? [] }
    }

    // MARK: Limits

    private mutating func take(_ size: Int) throws(Diagnostic) {
        room -= size
        guard room >= 0 else {
            throw Diagnostic(
                severity: .error,
                message: "The document holds too many values once its aliases are written out.",
                location: SourceLocation(file: source.name, line: 1, column: 1),
                remedy: "use '$ref' instead of aliases"
            )
        }
    }

    private func checkDepth(_ depth: Int, at position: SourcePosition) throws(Diagnostic) {
        guard depth > YAMLComposer.maximumDepth else { return }
        throw Diagnostic(
            severity: .error,
            message: "The document nests more than \(YAMLComposer.maximumDepth) levels deep.",
            location: source.location(of: position)
        )
    }

    private func invalid(_ problem: String, at position: SourcePosition, remedy: String? = nil) -> Diagnostic {
        Diagnostic(
            severity: .error,
            message: "The document is not valid YAML: \(problem)",
            location: source.location(of: position),
            remedy: remedy
        )
    }
}

/// How much a document may grow when values that it names once are written out where they are used.
enum ExpansionLimit {
    /// The size that the values of a document may have: more than its text can have without aliases and references.
    static func room(for source: SourceText) -> Int {
        source.bytes.count + 250_000
    }

    /// The size of a scalar. Long texts count more, because they are copied into the output.
    static func size(of text: String) -> Int {
        1 + text.utf8.count / 64
    }

    /// The size of a value. Counting ends above a limit.
    static func size(of node: DocumentNode, atMost limit: Int) -> Int {
        var total = 0
        var waiting: [DocumentNode] = [node]
        while total <= limit, let node = waiting.popLast() {
            switch node.content {
            case .object(let members):
                for member in members { total += size(of: member.key) }
                waiting += members.map(\.value)
            case .array(let elements):
                total += 1
                waiting += elements
            case .string(let text): total += size(of: text)
            case .null, .bool, .integer, .number: total += 1
            }
        }
        return total
    }
}

/// The events of a YAML text.
private final class YAMLEvents {
    struct Event {
        enum Kind: Equatable {
            case streamStart
            case streamEnd
            case documentStart
            case documentEnd
            case alias(String)
            /// A scalar. Only a plain one, without quotes and without the tag of strings, can be other than a string.
            case scalar(String, isPlain: Bool)
            case sequenceStart
            case sequenceEnd
            case mappingStart
            case mappingEnd
        }

        var kind: Kind
        var anchor: String?
        var position: SourcePosition
    }

    private let source: SourceText
    /// The number of bytes of the byte-order mark.
    private let start: Int
    /// The bytes without the byte-order mark. The parser reads them while this object exists.
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    /// The parser holds pointers to itself, so it must not move.
    private let parser: UnsafeMutablePointer<yaml_parser_t>

    init(_ source: SourceText) {
        self.source = source
        start = source.bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        bytes = .allocate(capacity: source.bytes.count - start)
        _ = bytes.initialize(from: source.bytes[start...])
        parser = .allocate(capacity: 1)
        parser.initialize(to: yaml_parser_t())
        yaml_parser_initialize(parser)
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
        bytes.deallocate()
    }

    /// The next event. After the end of the stream it is the end again.
    func next() throws(Diagnostic) -> Event {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw failure() }
        defer { yaml_event_delete(&event) }
        let kind: Event.Kind
        var anchor: String?
        switch event.type {
        case YAML_STREAM_START_EVENT: kind = .streamStart
        case YAML_DOCUMENT_START_EVENT: kind = .documentStart
        case YAML_DOCUMENT_END_EVENT: kind = .documentEnd
        case YAML_ALIAS_EVENT: kind = .alias(text(event.data.alias.anchor) ?? "")
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let value = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            let isString = text(scalar.tag) == "tag:yaml.org,2002:str"
            kind = .scalar(
                String(decoding: value, as: UTF8.self),
                isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE && scalar.quoted_implicit == 0 && !isString
            )
            anchor = text(scalar.anchor)
        case YAML_SEQUENCE_START_EVENT:
            kind = .sequenceStart
            anchor = text(event.data.sequence_start.anchor)
        case YAML_SEQUENCE_END_EVENT: kind = .sequenceEnd
        case YAML_MAPPING_START_EVENT:
            kind = .mappingStart
            anchor = text(event.data.mapping_start.anchor)
        case YAML_MAPPING_END_EVENT: kind = .mappingEnd
        default: kind = .streamEnd
        }
        return Event(kind: kind, anchor: anchor, position: position(event.start_mark))
    }

    private func text(_ pointer: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        pointer.map { String(cString: $0) }
    }

    private func position(_ mark: yaml_mark_t) -> SourcePosition {
        SourcePosition(line: Int(clamping: mark.line) + 1, column: Int(clamping: mark.column) + 1, in: source.index)
    }

    private func failure() -> Diagnostic {
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? "the text cannot be read"
        let position: SourcePosition =
            parser.pointee.error == YAML_READER_ERROR
            ? SourcePosition(offset: start + Int(clamping: parser.pointee.problem_offset), in: source.index)
            : self.position(parser.pointee.problem_mark)
        var remedy: String?
        if problem.contains("cannot start any token") {
            remedy = "indent with spaces, not tabs, and quote text that begins with a sign of YAML"
        } else if problem.contains("mapping values are not allowed") {
            remedy = "check the indentation, and quote text that holds ': '"
        }
        return Diagnostic(
            severity: .error,
            message: "The document is not valid YAML: \(problem)",
            location: source.location(of: position),
            remedy: remedy
        )
    }
}
