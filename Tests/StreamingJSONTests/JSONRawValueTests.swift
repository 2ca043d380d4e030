import StreamingJSON
import Testing

struct JSONRawValueTests {
    @Test(arguments: [
        ("1", "1.0"), ("100", "1e2"), ("0", "-0.0"), ("0.5", "50e-2"),
        ("12345678901234567890123", "12345678901234567890.123e3"),
        (#""a""#, #""\u0061""#), (#""/""#, #""\/""#), ("[1,2]", " [ 1 , 2.0 ] "),
        (#"{"a":1,"b":2}"#, #"{ "b":2, "a" :1}"#),
        (#"{"a":{"b":[{"c":null}]}}"#, #"{ "a" : { "b" : [ { "c" : null } ] } }"#), (#"{"a":1,"a":2}"#, #"{"a":2}"#),
        (#"{"\u0061":true}"#, #"{"a":true}"#),
    ])
    func valuesOfTheSameMeaningAreEqual(left: String, right: String) throws {
        let left = try JSONRawValue(parsing: left)
        let right = try JSONRawValue(parsing: right)
        #expect(left == right)
        #expect(left.hashValue == right.hashValue)
        #expect(Set([left, right]).count == 1)
    }

    @Test(arguments: [
        ("1", "2"), ("1", "-1"), ("1", "10"), ("1", #""1""#), ("0.1", "0.10000000000000000001"), ("null", "false"),
        ("[]", "{}"),
        ("[1,2]", "[2,1]"), (#"{"a":1}"#, #"{"b":1}"#), ("9007199254740992", "9007199254740993"), ("1e400", "1e401"),
        // These texts look alike, and are equal as Swift strings, but their bytes differ.
        (#""\u00e9""#, #""e\u0301""#),
    ])
    func valuesOfDifferentMeaningAreNot(left: String, right: String) throws {
        #expect(try JSONRawValue(parsing: left) != JSONRawValue(parsing: right))
    }

    @Test func onlyOneValueIsTaken() throws {
        #expect(throws: JSONError.self) { try JSONRawValue(parsing: "") }
        #expect(throws: JSONError.self) { try JSONRawValue(parsing: "1 2") }
        #expect(throws: JSONError.self) { try JSONRawValue(parsing: "{") }
        #expect(try JSONRawValue(parsing: "\n[ 1 ]\t").description == "[ 1 ]")
    }

    @Test func aRawValueIsReadAsAnyType() throws {
        let raw = try JSONRawValue(["a": [1, 2]])
        #expect(raw.kind == .object)
        #expect(try raw.read([String: [Int]].self) == ["a": [1, 2]])
        let error = #expect(throws: JSONError.self) { try raw.read([String: [String]].self) }
        #expect(error?.path == "$.a[0]")
    }
}
