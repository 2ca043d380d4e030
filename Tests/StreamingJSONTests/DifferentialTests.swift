import Foundation
import StreamingJSON
import TestSupport
import Testing

/// Compares our parser with Foundation's on random documents.
struct DifferentialTests {
    /// A tree of Foundation's objects as a `JSONValue`.
    private func value(of object: Any) -> JSONValue? {
        switch object {
        case is NSNull: return .null
        case let text as String: return .string(text)
        case let elements as [Any]:
            let values = elements.compactMap { value(of: $0) }
            return values.count == elements.count ? .array(values) : nil
        case let members as [String: Any]:
            let values = members.compactMapValues { value(of: $0) }
            return values.count == members.count ? .object(values) : nil
        case let number as NSNumber:
            if CFBooleanType.isBoolean(number) {
                return .bool(number.boolValue)
            }
            return .double(number.doubleValue)
        default: return nil
        }
    }

    /// Whether two trees are equal except for the last digits of their numbers, which Foundation rounds more than once.
    private func agree(_ left: JSONValue, _ right: JSONValue?) -> Bool {
        guard let right else { return false }
        switch (left, right) {
        case (.array(let left), .array(let right)):
            return left.count == right.count && zip(left, right).allSatisfy { agree($0, $1) }
        case (.object(let left), .object(let right)):
            return left.count == right.count && left.allSatisfy { agree($0.value, right[$0.key]) }
        default:
            guard let first = left.doubleValue, let second = right.doubleValue else { return left == right }
            return abs(first - second) <= abs(first) * 1e-14
        }
    }

    private enum CFBooleanType {
        static func isBoolean(_ number: NSNumber) -> Bool {
            type(of: number) == type(of: NSNumber(value: true)) && String(cString: number.objCType) == "c"
        }
    }

    private func foundation(_ bytes: [UInt8]) -> JSONValue? {
        guard let object = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed) else {
            return nil
        }
        return value(of: object)
    }

    @Test func randomDocumentsMeanTheSame() throws {
        var generator = SeededGenerator()
        for _ in 0..<3000 {
            var text = ""
            RandomDocument.append(to: &text, depth: 0, using: &generator)
            let bytes = Array(text.utf8)
            let ours = try JSONReader.read(JSONValue.self, from: bytes)
            #expect(agree(ours, foundation(bytes)), "seed \(SeededGenerator.seed): \(text)")
            // The documents mean the same after writing, for both parsers.
            let compact = try JSONWriter.bytes(of: ours)
            #expect(try JSONReader.read(JSONValue.self, from: compact) == ours, "seed \(SeededGenerator.seed): \(text)")
            #expect(agree(ours, foundation(compact)), "seed \(SeededGenerator.seed): \(text)")
            let pretty = try JSONWriter.bytes(of: ours, options: [.prettyPrinted, .escapingSlashes])
            #expect(
                try JSONRawValue(parsing: pretty) == JSONRawValue(parsing: bytes),
                "seed \(SeededGenerator.seed): \(text)"
            )
        }
    }

    @Test func damagedDocumentsAreRefusedByBoth() throws {
        var generator = SeededGenerator()
        let alphabet = Array(#"{}[]",:\/u0123456789.eE+-tfnrael "#.utf8)
        for _ in 0..<6000 {
            var text = ""
            RandomDocument.append(to: &text, depth: 1, using: &generator)
            var bytes = Array(text.utf8)
            for _ in 0..<Int.random(in: 1...2, using: &generator) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes.remove(at: place)
                case 1: bytes.insert(alphabet.randomElement(using: &generator) ?? 0, at: place)
                default: bytes[place] = alphabet.randomElement(using: &generator) ?? 0
                }
            }
            let ours = try? JSONReader.read(JSONValue.self, from: bytes)
            let skipped = try? JSONRawValue(parsing: bytes)
            let message: Comment = "seed \(SeededGenerator.seed): \(String(decoding: bytes, as: UTF8.self))"
            if let ours {
                #expect(skipped != nil, message)
                #expect(agree(ours, foundation(bytes)), message)
            } else if let text = String(validating: bytes, as: UTF8.self), !text.contains(/,\s*[}\]]/) {
                // Foundation accepts a comma before a closing brace.
                #expect(foundation(bytes) == nil, message)
            }
        }
    }
}

/// Generates valid JSON of all kinds.
enum RandomDocument {
    static func append(to text: inout String, depth: Int, using generator: inout SeededGenerator) {
        space(&text, &generator)
        switch Int.random(in: 0..<(depth < 5 ? 12 : 7), using: &generator) {
        case 0: text += ["true", "false", "null"].randomElement(using: &generator) ?? ""
        case 1: text += "\(Int64(truncatingIfNeeded: generator.next()) >> Int.random(in: 11...63, using: &generator))"
        case 2: text += "\(Double.random(in: -1000...1000, using: &generator))"
        case 3:
            text += "\(Int.random(in: -99...99, using: &generator)).\(generator.next() >> 40)"
            text +=
                "\(["e", "E", "e+", "E-"].randomElement(using: &generator) ?? "")\(Int.random(in: 0...30, using: &generator))"
        case 4, 5, 6: string(&text, &generator)
        case 7, 8, 9:
            text += "{"
            for index in 0..<Int.random(in: 0...4, using: &generator) {
                text += index > 0 ? "," : ""
                space(&text, &generator)
                // No key occurs twice, since parsers differ in which one they take.
                text += "\"\(index)"
                var rest = ""
                string(&rest, &generator)
                text += rest.dropFirst()
                space(&text, &generator)
                text += ":"
                append(to: &text, depth: depth + 1, using: &generator)
            }
            text += "}"
        default:
            text += "["
            for index in 0..<Int.random(in: 0...5, using: &generator) {
                text += index > 0 ? "," : ""
                append(to: &text, depth: depth + 1, using: &generator)
            }
            text += "]"
        }
        space(&text, &generator)
    }

    private static func space(_ text: inout String, _ generator: inout SeededGenerator) {
        if Int.random(in: 0..<4, using: &generator) == 0 {
            text += [" ", "\n", "\t", "\r\n", "            ", "\n          "].randomElement(using: &generator) ?? ""
        }
    }

    private static func string(_ text: inout String, _ generator: inout SeededGenerator) {
        let pieces = [
            "a", "Mist", "recordName", #"\""#, #"\\"#, #"\/"#, #"\b\f\n\r\t"#, #"\u0041"#, #"\u00E9"#, #"\ud83d\ude00"#,
            "ä", "€", "😀",
            "0123456789abcdef", "\u{7F}", #"\u0000"#, "{[,:]}",
        ]
        text += "\""
        for _ in 0..<Int.random(in: 0...6, using: &generator) {
            text += pieces.randomElement(using: &generator) ?? ""
        }
        text += "\""
    }
}
