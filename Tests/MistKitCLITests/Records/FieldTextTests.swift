import CloudKitModel
import Foundation
import Testing

@testable import MistKitCLI

struct FieldTextTests {
    @Test(arguments: [
        ("title=Hello", "title", FieldValue.string("Hello")),
        ("title=", "title", .string("")),
        ("equation=a=b", "equation", .string("a=b")),
        ("rating=4", "rating", .int64(4)),
        ("rating=-4", "rating", .int64(-4)),
        ("zip=01234", "zip", .string("01234")),
        ("big=9223372036854775807", "big", .int64(.max)),
        ("big:STRING=99999999999999999999", "big", .string("99999999999999999999")),
        ("card=00009999999999999999999", "card", .string("00009999999999999999999")),
        ("score=4.5", "score", .double(4.5)),
        ("word=nan", "word", .string("nan")),
        ("zip:STRING=4", "zip", .string("4")),
        ("score:double=4", "score", .double(4)),
        ("gone:NULL=", "gone", .null),
        ("when:TIMESTAMP=1500", "when", .timestamp(Date(timeIntervalSince1970: 1.5))),
        ("when:TIMESTAMP=1970-01-01T00:01:00Z", "when", .timestamp(Date(timeIntervalSince1970: 60))),
        ("when:TIMESTAMP=1970-01-02", "when", .timestamp(Date(timeIntervalSince1970: 86400))),
        ("data:BYTES=AQI=", "data", .bytes(Data([1, 2]))),
        ("ref:REFERENCE=other", "ref", .reference(Reference(recordName: "other"))),
        ("place:LOCATION=59.9, 10.7", "place", .location(Location(latitude: 59.9, longitude: 10.7))),
        ("tags:STRING_LIST=a, b", "tags", .stringList(["a", "b"])),
        ("tags:STRING_LIST=", "tags", .stringList([])),
        ("counts:INT64_LIST=1,2", "counts", .int64List([1, 2])),
        ("secret:STRING!=x", "secret", .encrypted(.string("x"))),
    ]) func fieldArgumentsAreReadWithTheirType(_ argument: String, name: String, value: FieldValue) throws {
        let assignment = try FieldText.assignment(argument)
        #expect(assignment.name == name)
        #expect(assignment.value == value)
    }

    /// A user can type a value of each type of the document, and the help names the type, unless it is one of the
    /// exceptions.
    @Test(arguments: FieldType.allCases)
    func everyTypeOfTheDocumentCanBeTyped(_ type: FieldType) throws {
        // Types that only an upload or a lookup produces, and types that are written under another type.
        let exceptions: Set<FieldType> = [.asset, .assetList, .locationList, .unknownList, .encryptedBytes]
        let texts: [FieldType: String] = [
            .int64: "1", .double: "1.5", .timestamp: "1500", .bytes: "AQI=", .location: "59.9,10.7",
            .int64List: "1,2", .doubleList: "1.5,2", .timestampList: "0,1500", .bytesList: "AQI=,AQ==",
        ]
        guard !exceptions.contains(type) else { return }
        let value = try FieldText.assignment("f:\(type.rawValue)=\(texts[type] ?? "text")").value
        #expect(value.type == type)
        let error = #expect(throws: CommandError.self) { try FieldText.assignment("f:NONE=") }
        #expect(error?.remedy.contains(type.rawValue.replacing("_LIST", with: "")) == true)
    }

    @Test(arguments: [
        ("title", "The field \"title\" has no value."),
        ("=x", "The field \"=x\" has no name."),
        ("n=99999999999999999999", "The number 99999999999999999999 of the field n does not fit into 64 bits."),
        ("n=-9223372036854775809", "The number -9223372036854775809 of the field n does not fit into 64 bits."),
        ("n:INT64=x", "\"x\" is not a valid INT64, the type of the field n."),
        ("n:DOUBLE=inf", "\"inf\" is not a valid DOUBLE, the type of the field n."),
        ("n:TIMESTAMP=yesterday", "\"yesterday\" is not a valid TIMESTAMP, the type of the field n."),
        ("n:TIMESTAMP=2026-01-31 noon", "\"2026-01-31 noon\" is not a valid TIMESTAMP, the type of the field n."),
        ("n:TIMESTAMP=2026-02-29", "\"2026-02-29\" is not a valid TIMESTAMP, the type of the field n."),
        (
            "n:TIMESTAMP=2026-02-30T00:00:00Z",
            "\"2026-02-30T00:00:00Z\" is not a valid TIMESTAMP, the type of the field n."
        ),
        (
            "n:TIMESTAMP=2026-01-31T25:00:00Z",
            "\"2026-01-31T25:00:00Z\" is not a valid TIMESTAMP, the type of the field n."
        ),
        (
            "n:TIMESTAMP=2026-01-31T00:60:00Z",
            "\"2026-01-31T00:60:00Z\" is not a valid TIMESTAMP, the type of the field n."
        ),
        ("n:TIMESTAMP=2026-01-3112", "\"2026-01-3112\" is not a valid TIMESTAMP, the type of the field n."),
        ("n:LOCATION=91,0", "\"91,0\" is not a valid LOCATION, the type of the field n."),
        ("n:INT64_LIST=1,x", "\"1,x\" is not a valid INT64_LIST, the type of the field n."),
        ("n:NUMBER=1", "The field n has the type NUMBER, which does not exist."),
    ]) func saysWhatIsWrongWithAnArgument(_ argument: String, message: String) {
        let error = #expect(throws: CommandError.self) { try FieldText.assignment(argument) }
        #expect(error?.message == message)
        #expect(error?.code == .usage)
        #expect(error?.remedy.isEmpty == false)
    }

    @Test(arguments: [
        ("when=2026-01-31", true), ("when=2026-01-31T12:00:00Z", true), ("when:TIMESTAMP=2026-01-31", false),
        ("when=1795250405932", false), ("title=January", false), ("title=2026-01-31 was a Saturday", false),
    ]) func hintsAtTheTypeOfADate(_ argument: String, hasHint: Bool) throws {
        let (name, value) = try FieldText.assignment(argument)
        #expect((FieldText.dateHint(for: value, of: name) != nil) == hasHint)
    }

    @Test func showsEveryKindOfValueOnOneLine() {
        let values: [FieldValue] = [
            "text", 4, 4.5, .timestamp(Date(timeIntervalSince1970: 1_795_250_405.932)),
            .timestamp(Date(timeIntervalSince1970: 0)), .bytes(Data([1, 2])), .reference(Reference(recordName: "a")),
            .location(Location(latitude: 1, longitude: 2)), .list(["a", "b"]), .list([1, 2]), .null, .encrypted("x"),
        ]
        #expect(
            values.map(FieldText.describe) == [
                "text", "4", "4.5", "2026-11-21T08:40:05.932Z", "1970-01-01T00:00:00Z", "AQI=", "→ a", "1.0,2.0",
                "a, b", "1, 2",
                "", "x",
            ]
        )
    }
}
