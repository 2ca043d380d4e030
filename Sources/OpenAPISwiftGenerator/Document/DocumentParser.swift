import StreamingJSON
import Yams

/// Parses the bytes of a document into nodes: JSON with StreamingJSON, everything else with Yams.
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

    /// The keys of one object, which find a key that appears twice.
    private struct KeySet {
        private var few: [String] = []
        private var many: Set<String> = []

        /// Whether the key is new.
        mutating func insert(_ key: String) -> Bool {
            if many.isEmpty {
                if few.contains(key) { return false }
                few.append(key)
                if few.count == 16 { many = Set(few) }
                return true
            }
            return many.insert(key).inserted
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
        do {
            let start = source.bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
            let parser = try Parser(yaml: String(decoding: source.bytes[start...], as: UTF8.self), encoding: .utf8)
            guard let root = try parser.singleRoot() else { throw emptyDocument(source) }
            var converter = YAMLConverter(source: source)
            return try converter.convert(root)
        } catch let error as Diagnostic {
            throw error
        } catch let error as YamlError {
            throw diagnostic(for: error, in: source)
        } catch {
            throw Diagnostic(
                severity: .error,
                message: "The document is not valid YAML: \(error)",
                location: SourceLocation(file: source.name, line: 1, column: 1)
            )
        }
    }

    private static func diagnostic(for error: YamlError, in source: SourceText) -> Diagnostic {
        var message: String
        var location: SourceLocation?
        var remedy: String?
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            message = problem
            location = SourceLocation(file: source.name, line: mark.line, column: mark.column)
            if problem.contains("another document") {
                remedy = "keep one document in the file: remove what follows the second '---'"
            } else if problem.contains("cannot start any token") {
                remedy = "indent with spaces, not tabs, and quote text that begins with a sign of YAML"
            } else if problem.contains("mapping values are not allowed") {
                remedy = "check the indentation, and quote text that holds ': '"
            }
        case .reader(let problem, let offset, _, _):
            message = problem
            location = offset.map { source.location(of: SourcePosition(offset: $0, in: source.index)) }
        case .duplicatedKeysInMapping(let duplicates, let context):
            let names = duplicates.map { "'\($0)'" }.sorted()
            message = "the same key appears twice: \(names.joined(separator: ", "))"
            location = SourceLocation(file: source.name, line: context.mark.line, column: context.mark.column)
        default:
            message = "\(error)"
            location = SourceLocation(file: source.name, line: 1, column: 1)
        }
        return Diagnostic(
            severity: .error,
            message: "The document is not valid YAML: \(message)",
            location: location,
            remedy: remedy
        )
    }

    /// Converts nodes of Yams to nodes of the document.
    ///
    /// Yams replaces each alias with the value that it names. So a few lines with aliases of aliases can become more
    /// values than the memory holds, or nest deeper than the stack allows.
    private struct YAMLConverter {
        let source: SourceText
        /// The number of values that may still be converted. The limit is above the number of values that a text of
        /// this size can hold without aliases.
        private var room: Int
        /// The number of levels that values may still nest.
        private var depth = 512

        init(source: SourceText) {
            self.source = source
            room = source.bytes.count + 1_000_000
        }

        mutating func convert(_ node: Node) throws(Diagnostic) -> DocumentNode {
            room -= 1
            guard room >= 0 else {
                throw Diagnostic(
                    severity: .error,
                    message: "The document holds too many values once its aliases are written out.",
                    location: SourceLocation(file: source.name, line: 1, column: 1),
                    remedy: "use '$ref' instead of aliases"
                )
            }
            depth -= 1
            defer { depth += 1 }
            guard depth > 0 else {
                throw error("The document nests more than 512 levels deep.", at: position(node.mark))
            }
            switch node {
            case .scalar(let scalar):
                return DocumentNode(content: content(of: scalar), position: position(scalar.mark))
            case .sequence(let sequence):
                var elements: [DocumentNode] = []
                elements.reserveCapacity(sequence.count)
                for element in sequence {
                    elements.append(try convert(element))
                }
                return DocumentNode(content: .array(elements), position: position(sequence.mark))
            case .mapping(let mapping):
                return try convert(mapping)
            case .alias(let alias):
                // Yams has replaced all aliases.
                return DocumentNode(content: .null, position: position(alias.mark))
            }
        }

        private mutating func convert(_ mapping: Node.Mapping) throws(Diagnostic) -> DocumentNode {
            var members: [DocumentNode.Member] = []
            members.reserveCapacity(mapping.count)
            var merged: [DocumentNode.Member] = []
            var keys = KeySet()
            for (key, value) in mapping {
                guard let name = key.scalar else {
                    throw error(
                        "A key is text, this is \(key.sequence == nil ? "an object" : "an array").",
                        at: position(key.mark),
                        remedy: "quote text that begins with a brace or a bracket"
                    )
                }
                if name.string == "<<", name.style == .plain {
                    merged += try mergedMembers(of: value)
                } else {
                    // Yams distinguishes the keys `1` and `"1"`; in a document both are the key "1".
                    guard keys.insert(name.string) else {
                        throw error("The same key appears twice: '\(name.string)'.", at: position(name.mark))
                    }
                    members.append(DocumentNode.Member(key: name.string, value: try convert(value)))
                }
            }
            if !merged.isEmpty {
                var known = Set(members.map(\.key))
                for member in merged where known.insert(member.key).inserted {
                    members.append(member)
                }
            }
            return DocumentNode(content: .object(members), position: position(mapping.mark))
        }

        /// The members that a `<<` key merges: those of one mapping, or of several, of which the first has precedence.
        private mutating func mergedMembers(of node: Node) throws(Diagnostic) -> [DocumentNode.Member] {
            let value = try convert(node)
            if let members = value.members { return members }
            guard let elements = value.elements, elements.allSatisfy({ $0.members != nil }) else {
                throw error(
                    "The key '<<' merges an object or a list of objects, this is \(value.kindName).",
                    at: value.position
                )
            }
            return elements.flatMap { $0.members ?? [] }
        }

        private func error(_ message: String, at position: SourcePosition, remedy: String? = nil) -> Diagnostic {
            Diagnostic(severity: .error, message: message, location: source.location(of: position), remedy: remedy)
        }

        private func position(_ mark: Mark?) -> SourcePosition {
            SourcePosition(line: mark?.line ?? 1, column: mark?.column ?? 1, in: source.index)
        }

        /// The value of a scalar according to YAML 1.2's core schema. A scalar in quotes is always a string.
        private func content(of scalar: Node.Scalar) -> DocumentNode.Content {
            let text = scalar.string
            guard scalar.style == .plain else { return .string(text) }
            let content = DocumentParser.plainContent(of: text)
            if case .string = content { return content }
            return scalar.tag.description == Tag.Name.str.rawValue ? .string(text) : content
        }
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
