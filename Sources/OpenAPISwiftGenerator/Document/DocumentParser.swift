import StreamingJSON
import Yams

/// Bytes to nodes: JSON through StreamingJSON, everything else through Yams.
enum DocumentParser {
    /// Reads one document.
    ///
    /// The format goes by content: what starts with a brace or a bracket is tried as JSON first. YAML's flow style starts
    /// so too, and then the JSON error stands only if the text is no YAML either.
    static func parse(_ source: SourceText) throws(Diagnostic) -> DocumentNode {
        var start = 0
        if source.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
        let first = source.bytes[start...].first { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
        guard let first else {
            throw Diagnostic(
                severity: .error,
                message: "The document is empty.",
                location: SourceLocation(file: source.name, line: 1, column: 1)
            )
        }
        guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else {
            return try parseYAML(source)
        }
        let jsonError: Diagnostic
        do {
            return try parseJSON(source)
        } catch {
            jsonError = error
        }
        guard let node = try? parseYAML(source) else { throw jsonError }
        return node
    }

    // MARK: JSON

    private static func parseJSON(_ source: SourceText) throws(Diagnostic) -> DocumentNode {
        do {
            return try JSONReader.read(JSONTree.self, from: source.bytes).node
        } catch {
            throw Diagnostic(
                severity: .error,
                message: "The document is not valid JSON: \(error.message)",
                location: error.offset.map { source.location(of: SourcePosition(offset: $0)) }
            )
        }
    }

    /// The reading half of a node.
    private struct JSONTree: JSONReadable {
        var node: DocumentNode

        init(json reader: inout JSONReader) throws(JSONError) {
            node = try DocumentParser.readNode(&reader)
        }
    }

    private static func readNode(_ reader: inout JSONReader) throws(JSONError) -> DocumentNode {
        let kind: JSONReader.Kind = try reader.peekKind()
        let position = SourcePosition(offset: reader.position.offset)
        switch kind {
        case .null:
            try reader.readNull()
            return DocumentNode(content: .null, position: position)
        case .bool:
            return DocumentNode(content: .bool(try reader.readBool()), position: position)
        case .string:
            return DocumentNode(content: .string(try reader.readString()), position: position)
        case .number:
            // Not by way of the double, which rounds: beyond 2^53 it is whole where the number is not.
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
                elements.append(try readNode(&reader))
            }
            return DocumentNode(content: .array(elements), position: position)
        case .object:
            var members: [DocumentNode.Member] = []
            try reader.beginObject()
            while let key: String = try reader.nextKey() {
                members.append(DocumentNode.Member(key: key, value: try readNode(&reader)))
            }
            return DocumentNode(content: .object(members), position: position)
        }
    }

    // MARK: YAML

    private static func parseYAML(_ source: SourceText) throws(Diagnostic) -> DocumentNode {
        do {
            let parser = try Parser(yaml: String(decoding: source.bytes, as: UTF8.self), encoding: .utf8)
            guard let root = try parser.singleRoot() else {
                throw Diagnostic(
                    severity: .error,
                    message: "The document is empty.",
                    location: SourceLocation(file: source.name, line: 1, column: 1)
                )
            }
            var room = roomForValues(of: source)
            return try convert(root, &room)
        } catch let error as Diagnostic {
            throw error
        } catch let error as YamlError {
            throw diagnostic(for: error, in: source)
        } catch is TooManyValues {
            throw Diagnostic(
                severity: .error,
                message: "The document holds too many values once its aliases are written out.",
                location: SourceLocation(file: source.name, line: 1, column: 1),
                remedy: "use '$ref' in place of aliases"
            )
        } catch {
            throw Diagnostic(severity: .error, message: "The document is not valid YAML: \(error)")
        }
    }

    private static func diagnostic(for error: YamlError, in source: SourceText) -> Diagnostic {
        var message: String
        var location: SourceLocation?
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            message = problem
            location = SourceLocation(file: source.name, line: mark.line, column: mark.column)
        case .reader(let problem, let offset, _, _):
            message = problem
            location = offset.map { source.location(of: SourcePosition(offset: $0)) }
        case .duplicatedKeysInMapping(let duplicates, let context):
            let names: [String] = duplicates.map { "'\($0)'" }
            message = "the same key appears twice: \(names.joined(separator: ", "))"
            location = SourceLocation(file: source.name, line: context.mark.line, column: context.mark.column)
        default:
            message = "\(error)"
        }
        return Diagnostic(
            severity: .error,
            message: "The document is not valid YAML: \(message)",
            location: location
        )
    }

    /// The aliases of a document stand for more values than it may hold.
    private struct TooManyValues: Error {}

    /// The number of values that no text of that many bytes can spell without aliases, and a million for those with them.
    private static func roomForValues(of source: SourceText) -> Int {
        source.bytes.count + 1_000_000
    }

    /// Turns a node of Yams into one of the document.
    ///
    /// Aliases stand for what they name, so a few lines of aliases of aliases can stand for more than the memory holds.
    /// - Parameters:
    ///   - node: The node of Yams.
    ///   - room: How many values may still come.
    /// - Returns: The node with its members.
    /// - Throws: ``TooManyValues``, where there is no room for them.
    private static func convert(_ node: Node, _ room: inout Int) throws(TooManyValues) -> DocumentNode {
        room -= 1
        guard room >= 0 else { throw TooManyValues() }
        switch node {
        case .scalar(let scalar):
            return DocumentNode(content: content(of: scalar), position: position(scalar.mark))
        case .sequence(let sequence):
            var elements: [DocumentNode] = []
            elements.reserveCapacity(sequence.count)
            for element in sequence {
                elements.append(try convert(element, &room))
            }
            return DocumentNode(content: .array(elements), position: position(sequence.mark))
        case .mapping(let mapping):
            var members: [DocumentNode.Member] = []
            members.reserveCapacity(mapping.count)
            var merged: [DocumentNode.Member] = []
            for (key, value) in mapping {
                let name: String = key.scalar?.string ?? ""
                if name == "<<", key.scalar?.style == .plain {
                    merged += try mergedMembers(of: value, &room)
                } else {
                    members.append(DocumentNode.Member(key: name, value: try convert(value, &room)))
                }
            }
            for member in merged where !members.contains(where: { $0.key == member.key }) {
                members.append(member)
            }
            return DocumentNode(content: .object(members), position: position(mapping.mark))
        case .alias(let alias):
            return DocumentNode(content: .null, position: position(alias.mark))
        }
    }

    /// What a `<<` key brings in: the members of one mapping, or of several, of which the first wins.
    private static func mergedMembers(
        of node: Node,
        _ room: inout Int
    ) throws(TooManyValues) -> [DocumentNode.Member] {
        let value: DocumentNode = try convert(node, &room)
        if let members = value.members { return members }
        var members: [DocumentNode.Member] = []
        for element in value.elements ?? [] {
            for member in element.members ?? [] where !members.contains(where: { $0.key == member.key }) {
                members.append(member)
            }
        }
        return members
    }

    private static func position(_ mark: Mark?) -> SourcePosition {
        SourcePosition(line: mark?.line ?? 1, column: mark?.column ?? 1)
    }

    /// The value of a scalar by YAML 1.2's core schema: only plain scalars can be other than strings.
    private static func content(of scalar: Node.Scalar) -> DocumentNode.Content {
        let text: String = scalar.string
        guard scalar.style == .plain else { return .string(text) }
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
        // Double's parser takes more than YAML's numbers: `0x1p3`, `nan`, `infinity`.
        guard text.utf8.allSatisfy(isNumberByte), let number = Double(text) else { return .string(text) }
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
