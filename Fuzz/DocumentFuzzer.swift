// Makes documents that no one would write and hands them to the generator. Scripts/fuzz-generator compiles and runs
// this file.
//
//     fuzz-generator <first> <last> <state file> <output folder> <samples> <documents...>
//
// Case n is the same in every run: it depends only on its number and the documents. The state file has the number of
// the current case, so that the script knows which case crashed this program. At most <samples> outputs are written to
// the output folder, for a compiler to check.

import Foundation
import OpenAPISwiftGenerator
import StreamingJSON

/// A value of a document. Members keep their order.
indirect enum Value: JSONReadable, JSONWritable, Equatable {
    struct Member: Equatable {
        var key: String
        var value: Value
    }

    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([Value])
    case object([Member])

    init(json reader: inout JSONReader) throws(JSONError) {
        switch try reader.peekKind() {
        case .null:
            try reader.readNull()
            self = .null
        case .bool: self = .bool(try reader.readBool())
        case .string: self = .string(try reader.readString())
        case .number:
            let start = reader.position
            if let integer = try? reader.readInteger(Int.self) {
                self = .integer(integer)
            } else {
                reader.rewind(to: start)
                self = .number(try reader.readDouble())
            }
        case .array:
            var elements: [Value] = []
            try reader.beginArray()
            while try reader.nextElement() { elements.append(try Value(json: &reader)) }
            self = .array(elements)
        case .object:
            var members: [Member] = []
            try reader.beginObject()
            while let key: String = try reader.nextKey() {
                members.append(Member(key: key, value: try Value(json: &reader)))
            }
            self = .object(members)
        }
    }

    func write(json writer: inout JSONWriter) {
        switch self {
        case .null: writer.writeNull()
        case .bool(let value): writer.write(value)
        case .integer(let value): writer.write(value)
        case .number(let value): writer.write(value)
        case .string(let value): writer.write(value)
        case .array(let elements):
            writer.beginArray()
            for element in elements { element.write(json: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for member in members {
                writer.key(member.key)
                member.value.write(json: &writer)
            }
            writer.endObject()
        }
    }

    var json: [UInt8] { (try? JSONWriter.bytes(of: self, options: .prettyPrinted)) ?? [] }

    /// The value as YAML in block style, one scalar or key a line.
    var yaml: [UInt8] {
        var text = ""
        writeYAML(to: &text, depth: 0)
        return [UInt8](text.utf8)
    }

    private func writeYAML(to text: inout String, depth: Int) {
        let indentation = String(repeating: " ", count: depth)
        switch self {
        case .array(let elements) where !elements.isEmpty:
            text += "\n"
            for element in elements {
                text += "\(indentation)-"
                element.writeYAML(to: &text, depth: depth + 1)
            }
        case .object(let members) where !members.isEmpty:
            text += "\n"
            for member in members {
                text += "\(indentation)\(Value.quoted(member.key)):"
                member.value.writeYAML(to: &text, depth: depth + 1)
            }
        default: text += " \(scalar)\n"
        }
    }

    private var scalar: String {
        switch self {
        case .string(let value): Value.quoted(value)
        case .array: "[]"
        case .object: "{}"
        default: String(decoding: json, as: UTF8.self)
        }
    }

    /// A JSON string without characters that YAML forbids or reads as line breaks.
    private static func quoted(_ text: String) -> String {
        let json = String(decoding: (try? JSONWriter.bytes(of: text)) ?? [], as: UTF8.self)
        var result = ""
        for scalar in json.unicodeScalars {
            switch scalar.value {
            case 0x7F...0xA0, 0x2028, 0x2029, 0xFEFF:
                result += "\\u" + String(0x10000 + scalar.value, radix: 16).dropFirst()
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    var children: Int {
        switch self {
        case .array(let elements): elements.count
        case .object(let members): members.count
        default: 0
        }
    }

    var size: Int {
        switch self {
        case .array(let elements): elements.reduce(1) { $0 + $1.size }
        case .object(let members): members.reduce(1) { $0 + $1.value.size }
        default: 1
        }
    }
}

/// Random numbers that are the same for the same seed.
struct Randomness: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z: UInt64 = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<max(bound, 1), using: &self) }
    mutating func chance(_ one: Int) -> Bool { below(one) == 0 }
    mutating func pick<T>(_ items: [T]) -> T { items[below(items.count)] }
}

/// Changes trees of values, with words and constructs of OpenAPI documents.
struct TreeMutator {
    var random: Randomness
    /// Pointers to every value of the document, for references to them.
    private var pointers: [String] = []
    /// Every value, to be inserted elsewhere in the document.
    private var values: [Value] = []

    init(random: Randomness) {
        self.random = random
    }

    mutating func mutate(_ document: Value) -> Value {
        pointers = []
        values = []
        collect(document, pointer: "#")
        var result: Value = document
        for _ in 0...random.below(random.chance(4) ? 12 : 3) {
            // The index counts all values, so that each value is equally likely to change.
            var index: Int = random.below(result.size)
            result = change(result, at: &index)
        }
        return result
    }

    private mutating func collect(_ value: Value, pointer: String) {
        pointers.append(pointer)
        if pointers.count < 3000 { values.append(value) }
        switch value {
        case .array(let elements):
            for (index, element) in elements.enumerated() { collect(element, pointer: "\(pointer)/\(index)") }
        case .object(let members):
            for member in members {
                let token: String = member.key.replacingOccurrences(of: "~", with: "~0")
                    .replacingOccurrences(of: "/", with: "~1")
                collect(member.value, pointer: "\(pointer)/\(token)")
            }
        default: break
        }
    }

    private mutating func change(_ value: Value, at index: inout Int) -> Value {
        if index == 0 {
            index = -1
            return changed(value)
        }
        index -= 1
        switch value {
        case .array(var elements):
            for position in elements.indices {
                let size: Int = elements[position].size
                if index >= size {
                    index -= size
                    continue
                }
                elements[position] = change(elements[position], at: &index)
                break
            }
            return .array(elements)
        case .object(var members):
            for position in members.indices {
                let size: Int = members[position].value.size
                if index >= size {
                    index -= size
                    continue
                }
                members[position].value = change(members[position].value, at: &index)
                break
            }
            return .object(members)
        default: return value
        }
    }

    private mutating func changed(_ value: Value) -> Value {
        switch value {
        case .object(let members) where !random.chance(6): changed(members)
        case .array(let elements) where !random.chance(6): changed(elements)
        case .string(let text) where !random.chance(3): .string(changed(text))
        default: other()
        }
    }

    private mutating func changed(_ members: [Value.Member]) -> Value {
        var members: [Value.Member] = members
        let index: Int = random.below(members.count)
        switch random.below(10) {
        case 0 where !members.isEmpty: members.remove(at: index)
        case 1 where !members.isEmpty: members.append(members[index])
        case 2 where !members.isEmpty: members[index].key = name()
        case 3 where !members.isEmpty:
            let other: Int = random.below(members.count)
            (members[index].value, members[other].value) = (members[other].value, members[index].value)
        case 4: members.append(.init(key: "$ref", value: .string(reference())))
        case 5: return .object([.init(key: "$ref", value: .string(reference()))])
        case 6: return nested(.object(members))
        case 7 where !members.isEmpty:
            members.append(.init(key: name(), value: members[index].value))
        default:
            let key: String = random.pick(TreeMutator.keys)
            members.removeAll { $0.key == key }
            members.append(.init(key: key, value: keyword(key)))
        }
        return .object(members)
    }

    private mutating func changed(_ elements: [Value]) -> Value {
        var elements: [Value] = elements
        let index: Int = random.below(elements.count)
        switch random.below(5) {
        case 0 where !elements.isEmpty: elements.remove(at: index)
        case 1 where !elements.isEmpty: elements.append(elements[index])
        case 2 where !elements.isEmpty: elements.swapAt(index, random.below(elements.count))
        case 3: return nested(.array(elements))
        default: elements.append(other())
        }
        return .array(elements)
    }

    private mutating func changed(_ text: String) -> String {
        switch random.below(5) {
        case 0: name()
        case 1: reference()
        case 2: random.pick(TreeMutator.words)
        case 3: text + name()
        default: String(text.dropLast(random.below(text.count + 1)))
        }
    }

    /// A value that does not depend on where it is inserted.
    private mutating func other() -> Value {
        switch random.below(12) {
        case 0: .null
        case 1: .bool(random.chance(2))
        case 2: .integer(random.pick([0, 1, -1, 200, 404, 99999, .max, .min]))
        case 3: .number(random.pick([0.5, -1e300, 1e-300, 3.1]))
        case 4: .string(name())
        case 5: .string(random.pick(TreeMutator.words))
        case 6: .array([])
        case 7: .object([])
        case 8: .object([.init(key: "$ref", value: .string(reference()))])
        default: random.pick(values)
        }
    }

    private mutating func keyword(_ key: String) -> Value {
        switch key {
        case "type":
            random.chance(4)
                ? .array((0...random.below(3)).map { _ in .string(random.pick(TreeMutator.types)) })
                : .string(random.pick(TreeMutator.types))
        case "allOf", "anyOf", "oneOf", "prefixItems", "parameters":
            .array((0..<random.below(4)).map { _ in schema() })
        case "properties", "patternProperties", "$defs", "headers", "content", "responses", "encoding", "variables":
            .object((0..<random.below(4)).map { _ in .init(key: name(), value: schema()) })
        case "items", "additionalProperties", "not", "schema": schema()
        case "enum", "required", "tags", "examples": .array((0..<random.below(4)).map { _ in other() })
        case "nullable", "deprecated", "explode", "readOnly", "writeOnly": .bool(random.chance(2))
        case "discriminator":
            .object([
                .init(key: "propertyName", value: .string(name())),
                .init(
                    key: "mapping",
                    value: .object([
                        .init(key: name(), value: .string(reference())), .init(key: name(), value: other()),
                    ])
                ),
            ])
        default: random.chance(2) ? .string(random.pick(TreeMutator.words)) : other()
        }
    }

    private mutating func schema() -> Value {
        switch random.below(4) {
        case 0: .object([.init(key: "$ref", value: .string(reference()))])
        case 1: random.pick(values)
        case 2: .object([.init(key: "type", value: .string(random.pick(TreeMutator.types)))])
        default:
            .object([
                .init(key: "type", value: .string("object")),
                .init(
                    key: "properties",
                    value: .object([.init(key: name(), value: .object([.init(key: "type", value: .string("string"))]))])
                ),
            ])
        }
    }

    private mutating func reference() -> String {
        switch random.below(8) {
        case 0: "#/components/schemas/\(name())"
        case 1:
            random.pick([
                "#", "", "#/", "#x", "/a.yaml", "http://a/b", "a.yaml", "./b/../b.json#/nowhere", "%", "#/%7", "~",
            ])
        case 2: "a.yaml" + random.pick(pointers)
        case 3: "b.json" + random.pick(pointers)
        default: random.pick(pointers)
        }
    }

    /// The value inside of many layers of schemas.
    private mutating func nested(_ value: Value) -> Value {
        let depth: Int = random.chance(8) ? random.pick([100, 240, 500, 600]) : random.below(6)
        let key: String = random.pick(["items", "allOf", "oneOf", "anyOf", "properties", "additionalProperties", "not"])
        var result: Value = value
        for _ in 0..<depth {
            switch key {
            case "allOf", "oneOf", "anyOf": result = .object([.init(key: key, value: .array([result]))])
            case "properties":
                result = .object([.init(key: key, value: .object([.init(key: "x", value: result)]))])
            case "items":
                result = .object([
                    .init(key: "type", value: .string("array")), .init(key: key, value: result),
                ])
            default: result = .object([.init(key: key, value: result)])
            }
        }
        return result
    }

    private mutating func name() -> String {
        if random.chance(3) { return random.pick(TreeMutator.words) }
        let signs: [Character] = Array("aAbZ019_-. /{}$~%\"\\\n\t#*:;<>()[]'`éß日😀\u{0}\u{7F}\u{200B}\u{2028}\u{301}")
        return String((0..<random.below(8)).map { _ in random.pick(signs) })
    }

    static let types = ["string", "integer", "number", "boolean", "object", "array", "null", "file", ""]
    static let words = [
        "", "_", "self", "Self", "init", "Type", "default", "Any", "type", "Protocol", "string", "String", "Int", "in",
        "/",
        "*/", "/*", "//", "\"\"\"", "\\(x)", "#if", "Codable", "Hashable", "value1", "value2", "additionalProperties",
        "id",
        "Input", "Output", "Body", "Headers", "Query", "Path", "Cookies", "undocumented", "other", "case1", "storage",
        "json",
        "date-time", "date", "byte", "binary", "uuid", "int32", "int64", "float", "double", "base64",
        "application/json",
        "multipart/form-data", "application/x-www-form-urlencoded", "text/plain", "text/event-stream",
        "application/jsonl",
        "application/xml", "*/*", "image/png; q=1", "form", "simple", "deepObject", "spaceDelimited", "matrix", "path",
        "query",
        "header", "cookie", "200", "4XX", "3.0.3", "3.1.0", "3.2.0", "{id}", "/a/{b}/{b}", "https://{host}/v1", "+1",
        "-1",
    ]
    static let keys = [
        "type", "allOf", "anyOf", "oneOf", "properties", "items", "additionalProperties", "not", "enum", "required",
        "nullable",
        "discriminator", "format", "const", "default", "deprecated", "description", "title", "readOnly", "writeOnly",
        "prefixItems",
        "patternProperties", "$defs", "$anchor", "contentEncoding", "contentMediaType", "parameters", "requestBody",
        "responses",
        "headers", "content", "schema", "style", "explode", "in", "name", "operationId", "tags", "encoding",
        "variables", "url",
        "callbacks", "links", "security", "servers", "examples", "example", "query", "additionalOperations",
        "itemSchema",
    ]
}

/// Changes bytes without knowledge of their meaning.
struct ByteMutator {
    var random: Randomness

    mutating func mutate(_ bytes: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = bytes
        for _ in 0...random.below(6) {
            guard !bytes.isEmpty else { break }
            let start: Int = random.below(bytes.count)
            let end: Int = min(bytes.count, start + random.below(random.chance(4) ? 400 : 8))
            switch random.below(6) {
            case 0: bytes[start] = UInt8(random.below(256))
            case 1: bytes.removeSubrange(start..<end)
            case 2: bytes.insert(contentsOf: bytes[start..<end], at: random.below(bytes.count))
            case 3: bytes.insert(contentsOf: random.pick(ByteMutator.tokens).utf8, at: start)
            case 4: bytes[start] = random.pick(Array("{}[],:\"'#&*!|>%@`-?\n\t \\".utf8))
            default: bytes.removeSubrange(random.pick([start..<bytes.count, start..<end]))
            }
        }
        return bytes
    }

    static let tokens = [
        "&a ", "*a", "<<: *a\n", "? ", "!!str ", "!!binary ", "!x ", "---\n", "...\n", "%YAML 1.1\n", "|\n", ">-\n",
        "{", "[", "\t",
        "\u{FEFF}", "\u{0}", "\r\n", "\u{85}", "\u{2028}", "null", "~", "0x1F", "0o7", "1e999", ".inf", ".nan",
        "2020-01-01", "yes",
        "\"", "'", "\\u0000", "\\ud800", "\"$ref\": \"#/components/schemas/A\",", "$ref: '#'\n", ", ", ": ", "[[[[[[[[",
        "{{{{{{",
    ]
}

/// The number of the current case, which the thread that watches the time limit reads.
final class Progress: @unchecked Sendable {
    private let lock = NSLock()
    private var current = 0
    private var began = Date()

    func begin(_ number: Int) {
        lock.lock()
        defer { lock.unlock() }
        current = number
        began = Date()
    }

    var seconds: TimeInterval {
        lock.lock()
        defer { lock.unlock() }
        return Date().timeIntervalSince(began)
    }
}

@main
enum DocumentFuzzer {
    /// The seconds after which a case counts as a failure: longer than any document here takes on a busy machine.
    static let timeLimit: TimeInterval = 20

    struct Totals {
        var outputs = 0
        var refusals = 0
        var slowest = 0.0
        var slowestCase = 0
    }

    static func main() throws {
        let arguments: [String] = CommandLine.arguments
        guard arguments.count > 6, let first = Int(arguments[1]), let last = Int(arguments[2]),
            let samples = Int(arguments[5])
        else {
            print("usage: fuzz-generator <first> <last> <state file> <output folder> <samples> <documents...>")
            exit(64)
        }
        let statePath: String = arguments[3]
        let output = URL(fileURLWithPath: arguments[4], isDirectory: true)
        let seeds: [Value] = try arguments[6...].map { (path: String) in
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
            return try JSONReader.read(from: try DocumentFilter.filter(bytes, named: path, by: nil, as: .json))
        }
        try Data().write(to: URL(fileURLWithPath: statePath))
        guard let state = FileHandle(forWritingAtPath: statePath) else { exit(64) }

        let progress = Progress()
        let watch = Thread {
            while true {
                Thread.sleep(forTimeInterval: 1)
                guard progress.seconds > timeLimit else { continue }
                FileHandle.standardError.write(Data("a case takes longer than \(Int(timeLimit)) s\n".utf8))
                abort()
            }
        }
        watch.start()

        var totals = Totals()
        var written = 0
        for number in first..<last {
            progress.begin(number)
            try state.seek(toOffset: 0)
            try state.write(contentsOf: Data("\(number)        ".utf8))
            let began = Date()
            let test = Case(number: number, seeds: seeds)
            if arguments[4] == "-" {
                FileHandle.standardOutput.write(Data(test.document))
                for (name, bytes) in test.files.sorted(by: { $0.key < $1.key }) {
                    FileHandle.standardOutput.write(Data("\n\n# \(name)\n\n".utf8) + Data(bytes))
                }
                continue
            }
            let files: [GeneratedFile]? = test.run()
            let seconds: TimeInterval = Date().timeIntervalSince(began)
            if seconds > totals.slowest { (totals.slowest, totals.slowestCase) = (seconds, number) }
            guard let files else {
                totals.refusals += 1
                continue
            }
            totals.outputs += 1
            if written < samples {
                written += 1
                let folder: URL = output.appendingPathComponent("case-\(number)")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                try Data(test.document).write(to: folder.appendingPathComponent("document"))
                for file in files {
                    try Data(file.contents.utf8).write(to: folder.appendingPathComponent(file.name))
                }
            }
        }
        if arguments[4] == "-" { return }
        print(
            "\(totals.outputs) outputs, \(totals.refusals) refused with an error, slowest case \(totals.slowestCase) with "
                + "\(String(format: "%.3f", totals.slowest)) s"
        )
    }
}

/// One document, and the checks of it.
struct Case {
    let number: Int
    var document: [UInt8]
    /// The same document in the other format, where there is one.
    private var twin: [UInt8]?
    let files: [String: [UInt8]]
    private let configuration: GeneratorConfiguration

    init(number: Int, seeds: [Value]) {
        self.number = number
        var random = Randomness(seed: UInt64(number))
        let seed: Value = random.pick(seeds)
        var trees = TreeMutator(random: random)
        let tree: Value = trees.mutate(seed)
        random = trees.random
        let isYAML: Bool = random.chance(2)
        document = isYAML ? tree.yaml : tree.json
        let isTree: Bool = !random.chance(3)
        if isTree {
            twin = isYAML ? tree.json : tree.yaml
        } else {
            var mutator = ByteMutator(random: random)
            document = mutator.mutate(document)
            random = mutator.random
        }
        let other: Value = random.pick(seeds)
        files = ["a.yaml": other.yaml, "b.json": trees.mutate(other).json]
        var configuration = GeneratorConfiguration(modes: [.types, .client, .server])
        configuration.accessModifier = random.pick(AccessModifier.allCases)
        configuration.namingStrategy = random.pick(NamingStrategy.allCases)
        configuration.handlerContext = random.pick([false, true])
        configuration.bufferedResponses = random.pick([.named([]), .all])
        if random.chance(10) { configuration.filter = DocumentFilter(tags: ["one"], paths: ["/a"], schemas: ["A"]) }
        configuration.splitsByTag = random.chance(4)
        self.configuration = configuration
    }

    /// The output; `nil` where the generator refuses the document with an error.
    func run() -> [GeneratedFile]? {
        let result: GeneratorResult = generate(document)
        let errors: [Diagnostic] = result.diagnostics.filter { $0.severity == .error }
        promise(errors.isEmpty == !result.files.isEmpty, "there is output or an error, and not both")
        for diagnostic in result.diagnostics {
            promise(!diagnostic.message.isEmpty, "every message says something")
            if let location = diagnostic.location {
                promise(location.line > 0 && location.column > 0, "lines and columns count from one")
            }
        }
        if let twin, number % 4 == 0 {
            let other: GeneratorResult = generate(twin)
            promise(other.files == result.files, "YAML and JSON give the same output")
            promise(
                other.diagnostics.map(\.message).sorted() == result.diagnostics.map(\.message).sorted()
                    || !errors.isEmpty,
                "YAML and JSON give the same messages"
            )
        }
        if number % 16 == 0 { promise(generate(document).files == result.files, "the same output every time") }
        if number % 8 == 0 {
            for format in DocumentFilter.OutputFormat.allCases {
                guard
                    let text = try? DocumentFilter.filter(
                        document,
                        named: "openapi.yaml",
                        by: nil,
                        as: format,
                        loadingReferencesWith: load
                    )
                else { continue }
                promise(
                    generate([UInt8](text.utf8)).files == result.files,
                    "a document printed as \(format) is the same"
                )
            }
        }
        return errors.isEmpty ? result.files : nil
    }

    private func generate(_ document: [UInt8]) -> GeneratorResult {
        Generator(configuration: configuration)
            .generate(from: document, named: "openapi.yaml", loadingReferencesWith: load)
    }

    private struct NoSuchFile: Error {}

    private func load(_ path: String) throws -> [UInt8] {
        guard let bytes = files[path] else { throw NoSuchFile() }
        return bytes
    }

    private func promise(_ isKept: Bool, _ what: String) {
        guard !isKept else { return }
        FileHandle.standardError.write(Data("case \(number): not kept: \(what)\n".utf8))
        exit(3)
    }
}
