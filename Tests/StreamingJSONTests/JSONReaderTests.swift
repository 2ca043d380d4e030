import Foundation
import StreamingJSON
import TestSupport
import Testing

private struct Point: Equatable, JSONReadable {
    static let keys = JSONKeys("x", "y", "label")
    var x = 0.0
    var y = 0.0
    var label: String?
    var others: [String] = []

    init(x: Double, y: Double, label: String? = nil, others: [String] = []) {
        self.x = x
        self.y = y
        self.label = label
        self.others = others
    }

    init(json reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        while let key = try reader.nextKey(in: Self.keys) {
            switch key {
            case 0: x = try reader.read()
            case 1: y = try reader.read()
            case 2: label = try reader.read()
            default:
                others.append(try reader.lastKey())
                try reader.skipValue()
            }
        }
    }
}

/// A value that is followed by its type, as in CloudKit's JSON.
private struct Tagged: JSONReadable {
    static let keys = JSONKeys("value", "type")
    static let types = JSONKeys("TIMESTAMP", "STRING")
    var date: Date?
    var text: String?

    init(json reader: inout JSONReader) throws(JSONError) {
        var place: JSONReader.Position?
        var type = JSONKeys.unknown
        try reader.beginObject()
        while let key = try reader.nextKey(in: Self.keys) {
            switch key {
            case 0:
                place = reader.position
                try reader.skipValue()
            case 1: type = try reader.readString(in: Self.types)
            default: try reader.skipValue()
            }
        }
        guard let place else { throw reader.error(.missingKey, "a field has no value") }
        let end = reader.position
        reader.rewind(to: place)
        switch type {
        case 0: date = Date(timeIntervalSince1970: Double(try reader.readInt64()) / 1000)
        case 1: text = try reader.readString()
        default: throw reader.error(.invalidValue, "a field has an unknown type")
        }
        reader.rewind(to: end)
    }
}

struct JSONReaderTests {
    @Test func anObjectIsReadInAnyOrderOfItsKeys() throws {
        let json = #"[{"y":2,"x":1}, {"x":3,"z":[{"x":9}],"y":-4.5,"label":"a"},{"label":null}, {}]"#
        #expect(
            try JSONReader.read([Point].self, from: json) == [
                Point(x: 1, y: 2), Point(x: 3, y: -4.5, label: "a", others: ["z"]), Point(x: 0, y: 0),
                Point(x: 0, y: 0),
            ]
        )
    }

    @Test func keysSpelledWithEscapesAreTheSameKeys() throws {
        let json = #"{"\u0078":1, "\u0079" : 2, "la\u0062el" : "c", "\u00e4\"\u0000":0}"#
        #expect(
            try JSONReader.read(Point.self, from: json) == Point(x: 1, y: 2, label: "c", others: ["ä\"\0"])
        )
    }

    @Test func theLastOfTwoEqualKeysCounts() throws {
        let json = #"{"x":1,"y":2,"x":3}"#
        #expect(try JSONReader.read(Point.self, from: json) == Point(x: 3, y: 2))
        #expect(try JSONReader.read([String: Int].self, from: json) == ["x": 3, "y": 2])
        #expect(try JSONReader.read(JSONValue.self, from: json) == ["x": 3, "y": 2])
    }

    @Test func longAndSimilarKeysAreToldApart() throws {
        let keys = JSONKeys(
            "a",
            "ab",
            "abcdefg",
            "abcdefgh",
            "abcdefghi",
            "abcdefgh0abcdefgh",
            "abcdefgh1abcdefgh",
            "abcdefgh1-abcdefgh",
            "",
            "ä",
            "abcdefgh_________x_________abcdefgh",
            "abcdefgh_________y_________abcdefgh"
        )
        #expect(keys.count == 12)
        for index in 0..<keys.count {
            // At the end of the input, and not near its end.
            for padding in ["", String(repeating: " ", count: 40)] {
                var json = try JSONWriter.bytes(of: [keys[index]: 1])
                json.append(contentsOf: padding.utf8)
                let found = try JSONReader.withReader(over: json.span) { (reader) throws(JSONError) -> Int? in
                    try reader.beginObject()
                    let found = try reader.nextKey(in: keys)
                    try reader.skipValue()
                    _ = try reader.nextKey(in: keys)
                    return found
                }
                #expect(found == index)
            }
        }
        for other in ["b", "abcdefgH", "abcdefgh2abcdefgh", "abcdefgh_________z_________abcdefgh", "a\0"] {
            let json = try JSONWriter.bytes(of: [other: 1])
            let found = try JSONReader.withReader(over: json.span) { (reader) throws(JSONError) -> Int? in
                try reader.beginObject()
                let found = try reader.nextKey(in: keys)
                try reader.skipValue()
                _ = try reader.nextKey()
                return found
            }
            #expect(found == JSONKeys.unknown, "\(other)")
        }
    }

    @Test func aTableOfManyKeysFindsEachOfThem() throws {
        let keys = JSONKeys(
            "k0",
            "k1",
            "k2",
            "k3",
            "k4",
            "k5",
            "k6",
            "k7",
            "k8",
            "k9",
            "k10",
            "k11",
            "k12",
            "k13",
            "k14",
            "k15",
            "k16",
            "recordName",
            "recordType",
            "recordChangeTag",
            "created",
            "modified",
            "deleted",
            "fields",
            "zoneID",
            "parent"
        )
        for place in 0..<keys.count {
            #expect(try index(of: keys[place], in: keys) == place)
        }
    }

    private func index(of text: String, in keys: JSONKeys) throws(JSONError) -> Int {
        let json = try JSONWriter.bytes(of: text)
        return try JSONReader.withReader(over: json.span) { (reader) throws(JSONError) in
            try reader.readString(in: keys)
        }
    }

    @Test func aValueIsSkippedAndReadLaterWhenItsTypeIsKnown() throws {
        let json = #"[{"value":1700000000500,"type":"TIMESTAMP"},{"type":"STRING","value":"a"}]"#
        let fields = try JSONReader.read([Tagged].self, from: json)
        #expect(fields.map(\.date) == [Date(timeIntervalSince1970: 1_700_000_000.5), nil])
        #expect(fields.map(\.text) == [nil, "a"])
    }

    @Test func rewindingOutOfAnObjectRestoresTheDepth() throws {
        let json = Array("[[[1]],2]".utf8)
        let options = JSONReader.Options(maximumDepth: 3)
        let values = try JSONReader.withReader(over: json.span, options: options) { reader throws(JSONError) in
            try reader.beginArray()
            _ = try reader.nextElement()
            var values: [JSONValue] = []
            let start = reader.position
            for _ in 0..<10 {
                reader.rewind(to: start)
                try reader.beginArray()
                _ = try reader.nextElement()
                try reader.beginArray()
            }
            reader.rewind(to: start)
            repeat {
                values.append(try reader.read())
            } while try reader.nextElement()
            return values
        }
        #expect(values == [[[1]], 2])
    }

    @Test func errorsOfTypesCarryOffsetAndPath() throws {
        let json = #"{"records":[{"fields":{}},{"fields":{"title":{"value":5,"type":"STRING"}}}]}"#
        let error = #expect(throws: JSONError.self) {
            try JSONReader.read([String: [[String: [String: Tagged]]]].self, from: json)
        }
        #expect(error?.code == .typeMismatch)
        #expect(error?.path == "$.records[1].fields.title.value")
        #expect(error?.message == "expected a string, found a number")
        #expect(
            error?.offset
                == json.utf8.firstRange(of: ":5".utf8).map {
                    json.utf8.distance(from: json.startIndex, to: $0.lowerBound) + 1
                }
        )

        let missing = #expect(throws: JSONError.self) {
            try JSONReader.read([Tagged].self, from: #"[{"value":"a","type":"STRING"},{"type":"STRING"}]"#)
        }
        #expect(missing?.description.hasPrefix("missingKey at $[1] ") == true)
    }

    @Test func errorsWithoutAPlaceGetThatOfTheReader() throws {
        let json = Array("[1,2,3]".utf8)
        let error = #expect(throws: JSONError.self) {
            try JSONReader.withReader(over: json.span) { reader throws(JSONError) in
                try reader.beginArray()
                _ = try reader.nextElement()
                try reader.skipValue()
                _ = try reader.nextElement()
                throw JSONError(code: .invalidValue, message: "no")
            }
        }
        #expect(error == JSONError(code: .invalidValue, message: "no", offset: 3, path: "$[1]"))
    }

    @Test func everyKindIsMismatchedWithAllOthers() throws {
        let samples: [(JSONReader.Kind, String, String)] = [
            (.object, "{}", "an object"), (.array, "[]", "an array"), (.string, #""""#, "a string"),
            (.number, "-1", "a number"), (.bool, "true", "true"), (.bool, "false", "false"), (.null, "null", "null"),
        ]
        for (kind, json, name) in samples {
            let bytes = Array(json.utf8)
            let found = try JSONReader.withReader(over: bytes.span) { (reader) throws(JSONError) in
                let kind = try reader.peekKind()
                try reader.skipValue()
                return kind
            }
            #expect(found == kind)
            func check(_ expected: JSONReader.Kind, _ read: () throws -> Void) {
                guard expected != kind else { return }
                let error = #expect(throws: JSONError.self) { try read() }
                #expect(error?.code == .typeMismatch)
                #expect(error?.message.hasSuffix("found \(name)") == true)
                #expect(error?.offset == 0)
            }
            check(.object) { _ = try JSONReader.read([String: JSONValue].self, from: json) }
            check(.array) { _ = try JSONReader.read([JSONValue].self, from: json) }
            check(.string) { _ = try JSONReader.read(String.self, from: json) }
            check(.number) { _ = try JSONReader.read(Int.self, from: json) }
            check(.number) { _ = try JSONReader.read(Double.self, from: json) }
            check(.number) { _ = try JSONReader.read(Float.self, from: json) }
            check(.bool) { _ = try JSONReader.read(Bool.self, from: json) }
            check(.null) {
                try JSONReader.withReader(over: bytes.span) { (reader) throws(JSONError) in try reader.readNull() }
            }
        }
    }

    @Test func misuseOfTheReaderThrowsAndNeverTraps() throws {
        let json = Array(#"{"a":[1,2]}"#.utf8)
        let options = JSONReader.Options(maximumDepth: 4)
        var generator = SeededGenerator()
        let keys = JSONKeys("a")
        for _ in 0..<20_000 {
            _ = try? JSONReader.withReader(over: json.span, options: options) { (reader) throws(JSONError) in
                var places = [reader.position]
                for _ in 0..<20 {
                    do throws(JSONError) {
                        switch Int.random(in: 0..<16, using: &generator) {
                        case 0: try reader.beginObject()
                        case 1: try reader.beginArray()
                        case 2: _ = try reader.nextKey()
                        case 3: _ = try reader.nextKey(in: keys)
                        case 4: _ = try reader.nextElement()
                        case 5: _ = try reader.lastKey()
                        case 6: try reader.skipValue()
                        case 7: _ = try reader.readRawValue()
                        case 8: _ = try reader.readString()
                        case 9: _ = try reader.readInt64()
                        case 10: _ = try reader.readDouble()
                        case 11: _ = try reader.peekKind()
                        case 12: _ = try reader.readNullIfPresent()
                        case 13: places.append(reader.position)
                        case 14: reader.rewind(to: places[Int.random(in: 0..<places.count, using: &generator)])
                        default: _ = try reader.readBase64()
                        }
                    } catch {
                        // Continue where the reader stopped.
                    }
                }
            }
        }
    }

    @Test func everyFormOfInputIsRead() throws {
        let text = #"["ä"]"#
        let bytes = Array(text.utf8)
        #expect(try JSONReader.read([String].self, from: text) == ["ä"])
        #expect(try JSONReader.read([String].self, from: bytes) == ["ä"])
        #expect(try JSONReader.read([String].self, from: bytes.span) == ["ä"])
        #expect(try JSONReader.read([String].self, from: (bytes + bytes)[bytes.count...]) == ["ä"])
        #expect(throws: JSONError.self) { try JSONReader.read([String].self, from: (bytes + bytes)[1...]) }
    }

    @Test func optionalsTakeNullForNil() throws {
        #expect(try JSONReader.read([Int?].self, from: "[1,null,3]") == [1, nil, 3])
        #expect(try JSONReader.read(Int?.self, from: " null ") == .some(nil))
        #expect(throws: JSONError.self) { try JSONReader.read(Int?.self, from: "nul") }
    }

    @Test func rawValuesAreKeptAsTheyAreSpelled() throws {
        let raw = try JSONReader.read(
            [String: JSONRawValue].self,
            from: #"{"a": {"b" :[ 1.50,"\u0041"] } , "c":12345678901234567890.12}"#
        )
        #expect(raw.mapValues(\.description) == ["a": #"{"b" :[ 1.50,"\u0041"] }"#, "c": "12345678901234567890.12"])
    }
}
