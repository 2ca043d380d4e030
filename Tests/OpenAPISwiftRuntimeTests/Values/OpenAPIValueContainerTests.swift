import Foundation
import OpenAPISwiftRuntime
import StreamingJSON
import Testing

struct OpenAPIValueContainerTests {

    private let text = #"{"array":[1,-2.5,"three",true,null,[],{}],"object":{"nested":{"deep":false}},"text":"é\n"}"#

    private func value() throws -> OpenAPIValueContainer {
        let array: [(any Sendable)?] = [1, -2.5, "three", true, nil, [(any Sendable)?](), [String: (any Sendable)?]()]
        let object: [String: (any Sendable)?] = ["nested": ["deep": false] as [String: any Sendable]]
        return try OpenAPIValueContainer(
            unvalidatedValue: ["array": array, "object": object, "text": "é\n"] as [String: (any Sendable)?]
        )
    }

    @Test func everyKindIsReadAndWrittenDirectly() throws {
        let value = try value()
        #expect(try JSONReader.read(OpenAPIValueContainer.self, from: text) == value)
        #expect(String(decoding: try JSONWriter.bytes(of: value), as: UTF8.self) == text)
    }

    @Test func everyKindIsReadAndWrittenByCodable() throws {
        let value = try value()
        #expect(try JSONDecoder().decode(OpenAPIValueContainer.self, from: Data(text.utf8)) == value)
        let written = try JSONEncoder().encode(value)
        #expect(try JSONDecoder().decode(OpenAPIValueContainer.self, from: written) == value)
    }

    @Test func objectsAndArraysAreReadAndWritten() throws {
        let object = try OpenAPIObjectContainer(unvalidatedValue: ["a": 1, "b": nil])
        #expect(try JSONReader.read(OpenAPIObjectContainer.self, from: #"{"b":null,"a":1}"#) == object)
        #expect(String(decoding: try JSONWriter.bytes(of: object), as: UTF8.self) == #"{"a":1,"b":null}"#)
        #expect(try JSONDecoder().decode(OpenAPIObjectContainer.self, from: JSONEncoder().encode(object)) == object)

        let array = try OpenAPIArrayContainer(unvalidatedValue: [1, nil, "x"])
        #expect(try JSONReader.read(OpenAPIArrayContainer.self, from: #"[1,null,"x"]"#) == array)
        #expect(String(decoding: try JSONWriter.bytes(of: array), as: UTF8.self) == #"[1,null,"x"]"#)
        #expect(try JSONDecoder().decode(OpenAPIArrayContainer.self, from: JSONEncoder().encode(array)) == array)

        #expect(throws: JSONError.self) { try JSONReader.read(OpenAPIObjectContainer.self, from: "[]") }
        #expect(throws: JSONError.self) { try JSONReader.read(OpenAPIArrayContainer.self, from: "{}") }
    }

    @Test func numbersAreWholeIfTheyCanBe() throws {
        func number(_ text: String) throws -> OpenAPIValueContainer { try JSONReader.read(from: text) }
        #expect(try number("1").value as? Int == 1)
        #expect(try number("9223372036854775807").value as? Int == .max)
        #expect(try number("9223372036854775808").value as? Double == 9_223_372_036_854_775_808)
        #expect(try number("1.5").value as? Double == 1.5)
    }

    @Test func literalsMakeValues() {
        let values: [OpenAPIValueContainer] = [true, 1, 1.5, "x", nil]
        #expect(values[0].value as? Bool == true)
        #expect(values[1].value as? Int == 1)
        #expect(values[2].value as? Double == 1.5)
        #expect(values[3].value as? String == "x")
        #expect(values[4].value == nil)
        #expect(Set(values).count == 5)
    }

    @Test func equalityAndHashingAreStructural() throws {
        let one = try value()
        let other = try value()
        #expect(one == other)
        #expect(one.hashValue == other.hashValue)
        let different = try OpenAPIValueContainer(unvalidatedValue: ["array": [1, 2]] as [String: any Sendable])
        #expect(one != different)
        #expect((1 as OpenAPIValueContainer) != true)
        #expect(
            try OpenAPIValueContainer(unvalidatedValue: [1] as [any Sendable])
                != OpenAPIValueContainer(unvalidatedValue: [2] as [any Sendable])
        )
    }

    @Test func typedCollectionsAndNullsOfFoundationAreAccepted() throws {
        #expect(try OpenAPIValueContainer(unvalidatedValue: [1, 2]) == JSONReader.read(from: "[1,2]"))
        #expect(try OpenAPIValueContainer(unvalidatedValue: ["a": 1]) == JSONReader.read(from: #"{"a":1}"#))
        #expect(try OpenAPIValueContainer(unvalidatedValue: NSNull()) == nil)
    }

    @Test func numbersOfFoundationStayWhatTheyAre() throws {
        let numbers: [any Sendable] = [
            NSNumber(value: 1), NSNumber(value: 0), NSNumber(value: true), NSNumber(value: false), NSNumber(value: 7),
            NSNumber(value: 1.5), NSNumber(value: Int8(1)),
        ]
        let text = "[1,0,true,false,7,1.5,1]"
        var unvalidated = OpenAPIArrayContainer()
        unvalidated.value = numbers
        for container in [try OpenAPIArrayContainer(unvalidatedValue: numbers), unvalidated] {
            #expect(String(decoding: try JSONWriter.bytes(of: container), as: UTF8.self) == text)
            #expect(String(decoding: try JSONEncoder().encode(container), as: UTF8.self) == text)
            #expect(try container == JSONReader.read(from: text))
            #expect(try container.hashValue == JSONReader.read(OpenAPIArrayContainer.self, from: text).hashValue)
        }
        let object = try JSONSerialization.jsonObject(with: Data(#"{"a":1,"b":true,"c":null}"#.utf8))
        let members = try #require(object as? [String: any Sendable])
        let container = try OpenAPIObjectContainer(unvalidatedValue: members)
        #expect(String(decoding: try JSONWriter.bytes(of: container), as: UTF8.self) == #"{"a":1,"b":true,"c":null}"#)
    }

    @Test func containersThatAreEncodedIntoOneEncoderBecomeOne() throws {
        struct Both<Container: Encodable>: Encodable {
            var first: Container
            var second: Container

            func encode(to encoder: any Encoder) throws {
                try first.encode(to: encoder)
                try second.encode(to: encoder)
            }
        }
        func text(_ value: some Encodable) throws -> String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        }
        let objects = Both(
            first: try OpenAPIObjectContainer(unvalidatedValue: ["a": 1, "b": 1]),
            second: try OpenAPIObjectContainer(unvalidatedValue: ["b": 2, "c": ["d": nil] as [String: (any Sendable)?]])
        )
        #expect(try text(objects) == #"{"a":1,"b":2,"c":{"d":null}}"#)
        let arrays = Both(
            first: try OpenAPIArrayContainer(unvalidatedValue: [1, "x"]),
            second: try OpenAPIArrayContainer(unvalidatedValue: [nil, [true] as [any Sendable]])
        )
        #expect(try text(arrays) == #"[1,"x",null,[true]]"#)
        let values = Both(
            first: try OpenAPIValueContainer(unvalidatedValue: ["a": 1]),
            second: try OpenAPIValueContainer(unvalidatedValue: ["c": true])
        )
        #expect(try text(values) == #"{"a":1,"c":true}"#)
        #expect(try text(Both(first: OpenAPIObjectContainer(), second: OpenAPIObjectContainer())) == "{}")
        #expect(try text(Both(first: OpenAPIArrayContainer(), second: OpenAPIArrayContainer())) == "[]")
    }

    @Test func otherTypesAreRefused() throws {
        #expect(throws: EncodingError.self) { try OpenAPIValueContainer(unvalidatedValue: Date()) }
        #expect(throws: EncodingError.self) { try OpenAPIObjectContainer(unvalidatedValue: ["a": Date()]) }
        #expect(throws: EncodingError.self) { try OpenAPIArrayContainer(unvalidatedValue: [[Date()]]) }
        var container: OpenAPIValueContainer = nil
        container.value = Date()
        #expect(throws: JSONError.self) { try JSONWriter.bytes(of: container) }
    }

    @Test func base64IsLenientInReadingAndStrictInWriting() throws {
        let value: Base64EncodedData = [0x48, 0x69]
        #expect(String(decoding: try JSONWriter.bytes(of: value), as: UTF8.self) == #""SGk=""#)
        #expect(String(decoding: try JSONEncoder().encode(value), as: UTF8.self) == #""SGk=""#)
        for text in [#""SGk=""#, #""SG\nk=""#, #""S G k =""#] {
            #expect(try JSONReader.read(Base64EncodedData.self, from: text) == value)
            #expect(try JSONDecoder().decode(Base64EncodedData.self, from: Data(text.utf8)) == value)
        }
        for text in [#""SGk""#, #""S""#, "1"] {
            #expect(throws: JSONError.self) { try JSONReader.read(Base64EncodedData.self, from: text) }
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(Base64EncodedData.self, from: Data(text.utf8))
            }
        }
        #expect(Base64EncodedData([1, 2, 3]).data == [1, 2, 3])
    }
}
