import StreamingJSON

/// Parses the bytes of a document into nodes: JSON with StreamingJSON, everything else with libyaml.
enum DocumentParser {
    /// Reads one document.
    ///
    /// The content decides the format. A text that starts with a brace or a bracket is tried as JSON first. YAML's flow
    /// style starts in the same way, so the JSON error is thrown only if the text is not valid YAML either. A text that
    /// starts with a brace and a quote is tried as JSON only: YAML would read `{"a": }` as a key without a value.
    static func parse(_ source: SourceText) throws(Diagnostic) -> DocumentNode {
        let start = source.bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        try checkEncoding(of: source)
        let signs = source.bytes[start...].lazy.filter { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }.prefix(
            2
        )
        guard let first = signs.first else { throw emptyDocument(source) }
        guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else {
            return try parseYAML(source)
        }
        let jsonError: Diagnostic
        do {
            return try parseJSON(source)
        } catch {
            jsonError = error
        }
        guard Array(signs) != [UInt8(ascii: "{"), UInt8(ascii: "\"")], let node = try? parseYAML(source) else {
            throw jsonError
        }
        return node
    }

    private static func emptyDocument(_ source: SourceText) -> Diagnostic {
        Diagnostic(
            severity: .error,
            message: "The document is empty.",
            location: SourceLocation(file: source.name, line: 1, column: 1)
        )
    }

    /// Throws for a document that is not UTF-8; the error says how to convert it.
    private static func checkEncoding(of source: SourceText) throws(Diagnostic) {
        let isWide =
            source.bytes.starts(with: [0xFF, 0xFE]) || source.bytes.starts(with: [0xFE, 0xFF])
            || source.bytes.prefix(4).contains(0)
        if isWide {
            throw Diagnostic(
                severity: .error,
                message: "The document is not UTF-8 but looks like UTF-16 or UTF-32.",
                location: SourceLocation(file: source.name, line: 1, column: 1),
                remedy: "save it as UTF-8, for instance by 'iconv -f UTF-16 -t UTF-8'"
            )
        }
        guard let offset = firstInvalidByte(of: source.bytes) else { return }
        throw Diagnostic(
            severity: .error,
            message: "The document is not valid UTF-8.",
            location: source.location(of: SourcePosition(offset: offset)),
            remedy: "save it as UTF-8"
        )
    }

    private static func firstInvalidByte(of bytes: [UInt8]) -> Int? {
        // Most documents are valid: the fast path.
        if String(validating: bytes, as: UTF8.self) != nil { return nil }
        var decoder = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var offset = 0
        while true {
            switch decoder.parseScalar(from: &iterator) {
            case .valid(let scalar): offset += scalar.count
            case .error: return offset
            case .emptyInput: return nil
            }
        }
    }

    // MARK: JSON

    private static func parseJSON(_ source: SourceText) throws(Diagnostic) -> DocumentNode {
        do {
            return try JSONReader.withReader(over: source.bytes.span) { (reader) throws(JSONError) in
                try readNode(&reader, file: source.index)
            }
        } catch {
            let location = error.offset.map {
                source.location(of: SourcePosition(offset: $0, in: source.index))
            }
            throw Diagnostic(
                severity: .error,
                message: "The document is not valid JSON: \(error.message)",
                location: location
            )
        }
    }

    private static func readNode(_ reader: inout JSONReader, file: Int) throws(JSONError) -> DocumentNode {
        let kind = try reader.peekKind()
        let position = SourcePosition(offset: reader.position.offset, in: file)
        switch kind {
        case .null:
            try reader.readNull()
            return DocumentNode(content: .null, position: position)
        case .bool:
            return DocumentNode(content: .bool(try reader.readBool()), position: position)
        case .string:
            return DocumentNode(content: .string(try reader.readString()), position: position)
        case .number:
            // An integer is not read through `Double`: beyond 2^53 each double is whole, even where the number is not.
            let start = reader.position
            if let integer = try? reader.readInteger(Int.self) {
                return DocumentNode(content: .integer(integer), position: position)
            }
            reader.rewind(to: start)
            return DocumentNode(content: .number(try reader.readDouble()), position: position)
        case .array:
            var elements: [DocumentNode] = []
            try reader.beginArray()
            while try reader.nextElement() {
                elements.append(try readNode(&reader, file: file))
            }
            return DocumentNode(content: .array(elements), position: position)
        case .object:
            var members: [DocumentNode.Member] = []
            var keys = KeySet()
            try reader.beginObject()
            while let key: String = try reader.nextKey() {
                guard keys.insert(key) else {
                    _ = try reader.peekKind()
                    throw reader.error(.typeMismatch, "the same key appears twice: '\(key)'")
                }
                members.append(DocumentNode.Member(key: key, value: try readNode(&reader, file: file)))
            }
            return DocumentNode(content: .object(members), position: position)
        }
    }

    // MARK: YAML

    private static func parseYAML(_ source: SourceText) throws(Diagnostic) -> DocumentNode {
        guard let root = try YAMLComposer.compose(source) else { throw emptyDocument(source) }
        return root
    }

    /// The value of a scalar without quotes, according to YAML 1.2's core schema.
    static func plainContent(of text: String) -> DocumentNode.Content {
        switch text {
        case "", "~", "null", "Null", "NULL": return .null
        case "true", "True", "TRUE": return .bool(true)
        case "false", "False", "FALSE": return .bool(false)
        default: break
        }
        guard let first = text.utf8.first, isNumberStart(first) else { return .string(text) }
        if let integer = Int(text) { return .integer(integer) }
        if text.hasPrefix("0x"), let integer = Int(text.dropFirst(2), radix: 16) { return .integer(integer) }
        if text.hasPrefix("0o"), let integer = Int(text.dropFirst(2), radix: 8) { return .integer(integer) }
        // `Double.init` also accepts texts that are not numbers of YAML: `0x1p3`, `nan`, `infinity`.
        guard text.utf8.allSatisfy(isNumberByte), let number = Double(text), number.isFinite else {
            return .string(text)
        }
        return .number(number)
    }

    private static func isNumberStart(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "+") || byte == UInt8(ascii: ".")
    }

    private static func isNumberByte(_ byte: UInt8) -> Bool {
        isNumberStart(byte) || byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E")
    }
}
