import Foundation
import StreamingJSON
import Testing

struct JSONValueTests {
    static let sample: JSONValue = [
        "null": nil, "bool": true, "integer": -9_223_372_036_854_775_808, "double": 1.5, "string": "ä\"\n😀",
        "array": [1, 2.5, [], [:], "x"], "object": ["nested": ["deep": [false]]],
    ]

    @Test func aTreeSurvivesWritingAndReading() throws {
        for options in [[], .prettyPrinted, [.sortedKeys, .escapingSlashes]] as [JSONWriter.Options] {
            let bytes = try JSONWriter.bytes(of: Self.sample, options: options)
            #expect(try JSONReader.read(JSONValue.self, from: bytes) == Self.sample)
        }
    }

    @Test func numbersKeepTheKindOfTheirSpelling() throws {
        #expect(
            try JSONReader.read(
                [JSONValue].self,
                from: "[1,-1,1.0,1e2,9223372036854775807,9223372036854775808,18446744073709551615,18446744073709551616]"
            ) == [
                .integer(1), .integer(-1), .double(1), .double(100), .integer(.max), .unsignedInteger(1 << 63),
                .unsignedInteger(.max), .double(18_446_744_073_709_551_616),
            ]
        )
        let error = #expect(throws: JSONError.self) { try JSONReader.read(JSONValue.self, from: "[1e400]") }
        #expect(error?.code == .numberOutOfRange)
    }

    @Test func partsAreFoundByKeyAndIndex() {
        let value = Self.sample
        #expect(value["array"]?[1]?.doubleValue == 2.5)
        #expect(value["array"]?[0]?.int64Value == 1)
        #expect(value["array"]?[9] == nil)
        #expect(value["object"]?["nested"]?["deep"]?[0]?.boolValue == false)
        #expect(value["string"]?.stringValue == "ä\"\n😀")
        #expect(value["null"]?.isNull == true)
        #expect(value["none"] == nil)
        #expect(value[0] == nil)
        #expect(JSONValue.double(3).int64Value == 3)
        #expect(JSONValue.double(3.5).int64Value == nil)
    }

    @Test func foundationCodesItAsItIs() throws {
        let data = try JSONEncoder().encode(Self.sample)
        #expect(try JSONReader.read(JSONValue.self, from: Array(data)) == Self.sample)
        let bytes = try JSONWriter.bytes(of: Self.sample)
        #expect(try JSONDecoder().decode(JSONValue.self, from: Data(bytes)) == Self.sample)
        #expect(
            try JSONDecoder().decode([JSONValue].self, from: Data("[18446744073709551615,null]".utf8)) == [
                .unsignedInteger(.max), nil,
            ]
        )
    }
}
