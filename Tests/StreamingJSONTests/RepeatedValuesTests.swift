import StreamingJSON
import TestSupport
import Testing

private final class Box {
    let value: JSONValue

    init(_ value: JSONValue) {
        self.value = value
    }
}

struct RepeatedValuesTests {
    @Test func stringsThatComeAgainAreTheSameStrings() throws {
        var generator = SeededGenerator()
        let pieces = ["a", "ab", "Article", "_defaultZone", "0123456789abcdef", "ä", "\"", "\u{0}"]
        // Texts of all lengths: few enough to be repeated, and more than the table has room for.
        let texts = (0..<400).map { _ in
            (0..<Int.random(in: 0...6, using: &generator)).map { _ in pieces.randomElement(using: &generator) ?? "" }
                .joined()
        }
        let sequence = (0..<5000).map { _ in texts.randomElement(using: &generator) ?? "" }
        let json = try JSONWriter.bytes(of: sequence)
        let read = try JSONReader.withReader(over: json.span) { (reader) throws(JSONError) -> [String] in
            var read: [String] = []
            try reader.beginArray()
            while try reader.nextElement() {
                read.append(try reader.readRepeatedString())
            }
            return read
        }
        #expect(read == sequence, "seed \(SeededGenerator.seed)")
        // Keys use the same table.
        let objects = sequence.map { [$0: 1] }
        #expect(try JSONReader.read([[String: Int]].self, from: JSONWriter.bytes(of: objects)) == objects)
    }

    @Test func valuesThatComeAgainAreTheSameObjects() throws {
        let json = Array(#"[{"a":1},{"a":1},{"a":12},1,12,1,[1],[1],[12],{"a":1 }, {"a":1}]"#.utf8)
        let boxes = try JSONReader.withReader(over: json.span) { (reader) throws(JSONError) -> [Box] in
            var boxes: [Box] = []
            try reader.beginArray()
            while try reader.nextElement() {
                boxes.append(
                    try reader.readRepeated { (reader) throws(JSONError) in Box(try reader.read(JSONValue.self)) }
                )
            }
            return boxes
        }
        #expect(try JSONValue.array(boxes.map(\.value)) == JSONReader.read(from: json))
        #expect(boxes[0] === boxes[1])
        #expect(boxes[6] === boxes[7])
        #expect(boxes[3] !== boxes[5])
    }
}
