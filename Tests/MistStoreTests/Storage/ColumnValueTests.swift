import CloudKitModel
import Foundation
import GRDB
import MistKit
import SQLiteTables
import StreamingJSON
import Testing

@testable import MistStore

struct ColumnValueTests {
    private static let zone = ZoneID(zoneName: "Notes")
    private static let bytes = Data((0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    private static let location = Location(
        latitude: -90,
        longitude: 179.999_999_9,
        altitude: 8848.86,
        timestamp: Date(timeIntervalSince1970: 1_686_106_171.024)
    )

    /// Values, their types, and the value of the column; `nil` if only the round trip is checked.
    private static let fitting: [(FieldType.Known, FieldValue, ColumnValue?)] = [
        (.string, "", .text("")),
        (.string, "Milk 🥛 e\u{301}", .text("Milk 🥛 e\u{301}")),
        (.string, "a\u{0}b", .text("a\u{0}b")),
        (.string, .encrypted("secret"), .text("secret")),
        (.int64, .int64(.min), .integer(.min)),
        (.int64, .int64(.max), .integer(.max)),
        (.double, .double(-0.0), .real(0)),
        (.double, .double(.leastNonzeroMagnitude), .real(.leastNonzeroMagnitude)),
        (.double, .double(-.greatestFiniteMagnitude), .real(-1.797_693_134_862_315_7e308)),
        (.double, .double(0.1), .real(0.1)),
        (.double, .double(9_007_199_254_740_992), .real(9_007_199_254_740_992)),
        (.timestamp, .timestamp(Date(timeIntervalSince1970: 0)), .integer(0)),
        (.timestamp, .timestamp(Date(timeIntervalSince1970: 0.024)), .integer(24)),
        (.timestamp, .timestamp(Date(timeIntervalSince1970: 1_686_106_171.024)), .integer(1_686_106_171_024)),
        (.timestamp, .timestamp(Date(timeIntervalSince1970: -0.001)), .integer(-1)),
        (.timestamp, .timestamp(.distantPast), .integer(-62_135_769_600_000)),
        (.timestamp, .timestamp(.distantFuture), .integer(64_092_211_200_000)),
        (.bytes, .bytes(Data()), .blob(Data())),
        (.bytes, .bytes(bytes), .blob(bytes)),
        (.reference, .reference(Reference(recordName: "A")), .text("A")),
        (.reference, .reference(Reference(recordName: "A", action: .deleteSelf)), .text("A")),
        (.reference, .reference(Reference(recordName: "A", action: .validate)), .text("A")),
        (.asset, .asset(Asset(fileChecksum: "AUSt", size: 3)), .text(#"{"fileChecksum":"AUSt","size":3}"#)),
        (.location, .location(location), nil),
        (.stringList, .stringList([]), .text("[]")),
        (.stringList, .stringList(["a\u{0}b", "", "🥛\"\\\n"]), .text(#"["a\u0000b","","🥛\"\\\n"]"#)),
        (.int64List, .int64List([.min, 0, .max]), .text("[-9223372036854775808,0,9223372036854775807]")),
        (.doubleList, .doubleList([0.1, 1, .leastNonzeroMagnitude, 1e300]), nil),
        (
            .timestampList,
            .timestampList([.distantPast, Date(timeIntervalSince1970: 1_686_106_171.024)]),
            .text("[-62135769600000,1686106171024]")
        ),
        (.bytesList, .bytesList([Data(), Data([0, 1, 0xFF])]), .text(#"["","AAH/"]"#)),
        (
            .referenceList,
            .referenceList([Reference(recordName: "A", action: .validate), Reference(recordName: "B")]),
            .text(#"[{"recordName":"A","action":"VALIDATE"},{"recordName":"B","action":"NONE"}]"#)
        ),
        (.assetList, .assetList([Asset(fileChecksum: "AUSt", size: 3), Asset()]), nil),
        (.locationList, .locationList([location, Location(latitude: 0, longitude: 0)]), nil),
    ]

    @Test func everyTypeComesBackFromTheDatabase() throws {
        let database = try DatabaseQueue()
        var types = Set<FieldType.Known>()
        for (number, (type, value, expected)) in Self.fitting.enumerated() {
            types.insert(type)
            let column = try ColumnValue(value, as: type, in: Self.zone)
            if let expected { #expect(column == expected, "\(type)") }
            let action = try ColumnValue(actionOf: value)
            let field = StoredField(id: 1, schema: RecordSchema.Field(name: "value", type: type.type))
            let stored = try database.write { db in
                try db.execute(sql: "CREATE TABLE t\(number) (\(field.definitions[0]), action INTEGER)")
                let insert = try db.makeStatement(sql: "INSERT INTO t\(number) VALUES (?, ?)")
                try insert.bind([column, action])
                try insert.execute()
                let select = try db.makeStatement(sql: "SELECT value, action, typeof(value) FROM t\(number)")
                let cursor = try Row.fetchCursor(select)
                let row = try #require(try cursor.next())
                #expect(row[2] == field.storage.typeof, "\(type)")
                return (
                    ColumnValue(sqliteStatement: select.sqliteStatement, index: 0),
                    ColumnValue(sqliteStatement: select.sqliteStatement, index: 1)
                )
            }
            #expect(stored == (column, action), "\(type)")
            #expect(try stored.0.fieldValue(as: type, action: stored.1) == value.plain, "\(type)")
        }
        // An empty list without a type fits every list, and encrypted bytes are stored as bytes.
        let others: Set<FieldType> = [.unknownList, .encryptedBytes]
        #expect(Set(types.map(\.type)) == Set(FieldType.allCases).subtracting(others))
    }

    @Test(
        "A text whose bytes are not UTF-8 is read as its bytes",
        arguments: ["ff", "61ff62", "f09f98", "c080", "eda080", "c3", "61f09f9880ff"]
    )
    func otherEncodingsAreBytes(hexadecimal: String) throws {
        let value = try Self.value(of: "CAST(x'\(hexadecimal)' AS TEXT)")
        guard case .blob(let data) = value else { throw NotBytes(value: value) }
        #expect(data.hexadecimal == hexadecimal)
    }

    @Test(arguments: ["", "a", "\u{0}", "e\u{301}", "Ä", "漢字", "🥛", "\u{FFFD}", "\u{10FFFF}"])
    func validTextsAreTexts(text: String) throws {
        #expect(try Self.value(of: "CAST(x'\(Data(text.utf8).hexadecimal)' AS TEXT)") == .text(text))
    }

    private struct NotBytes: Error { let value: ColumnValue }

    /// The value of an expression, as a column.
    private static func value(of expression: String) throws -> ColumnValue {
        try DatabaseQueue().read { db in
            let statement = try db.makeStatement(sql: "SELECT \(expression)")
            let cursor = try Row.fetchCursor(statement)
            return try withExtendedLifetime(cursor) {
                _ = try cursor.next()
                return ColumnValue(sqliteStatement: statement.sqliteStatement, index: 0)
            }
        }
    }

    @Test func absentAndNullAreNull() throws {
        for type in FieldType.Known.allCases {
            #expect(try ColumnValue(nil, as: type, in: Self.zone) == .null)
            #expect(try ColumnValue(.null, as: type, in: Self.zone) == .null)
            #expect(try ColumnValue(.encrypted(.null), as: type, in: Self.zone) == .null)
            #expect(try ColumnValue.null.fieldValue(as: type) == nil)
        }
    }

    @Test(arguments: [
        (1_686_106_171.024_9, 1_686_106_171_024), (1_686_106_171.000_001, 1_686_106_171_000),
        (1_686_106_170.999_999, 1_686_106_170_999), (-1.000_1, -1001), (-0.000_001, -1), (0.000_001, 0),
        (-62_135_769_600.5, -62_135_769_600_500),
    ])
    func microsecondsAreCutOff(seconds: Double, milliseconds: Int64) throws {
        let date = Date(timeIntervalSince1970: seconds)
        #expect(try ColumnValue(.timestamp(date), as: .timestamp, in: Self.zone) == .integer(milliseconds))
        #expect(
            try ColumnValue(.timestampList([date]), as: .timestampList, in: Self.zone) == .text("[\(milliseconds)]")
        )
    }

    @Test func wholeMillisecondsAreStable() throws {
        for milliseconds in stride(from: Int64(-70_000_000_000_000), through: 300_000_000_000_000, by: 123_456_789_017)
        {
            let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
            #expect(try ColumnValue.milliseconds(of: date) == milliseconds)
        }
    }

    @Test func aReferenceInTheOwnZoneLosesTheZone() throws {
        let zone = ZoneID(zoneName: "Notes", ownerRecordName: "_ann")
        let reference = FieldValue.reference(Reference(recordName: "A", zoneID: zone))
        for own in [zone, ZoneID(zoneName: "Notes")] {
            let column = try ColumnValue(reference, as: .reference, in: own)
            #expect(try column.fieldValue(as: .reference) == .reference(Reference(recordName: "A")))
        }
        let list = try ColumnValue(
            .referenceList([Reference(recordName: "A", zoneID: zone)]),
            as: .referenceList,
            in: zone
        )
        #expect(list == .text(#"[{"recordName":"A","action":"NONE"}]"#))
    }

    @Test func anEmptyListOfNoTypeFitsEveryList() throws {
        let value = try FieldValue.read(#"{"value":[]}"#)
        for type in FieldType.Known.allCases {
            guard type.element != nil else {
                #expect(throws: ColumnError.otherType(nil, expected: type)) {
                    try ColumnValue(value, as: type, in: Self.zone)
                }
                continue
            }
            #expect(try ColumnValue(value, as: type, in: Self.zone) == .text("[]"))
        }
    }

    @Test func aWholeNumberFitsADoubleThatHasAllItsDigits() throws {
        let value = FieldValue.int64(9_007_199_254_740_992)
        #expect(try ColumnValue(value, as: .double, in: Self.zone) == .real(9_007_199_254_740_992))
        #expect(throws: ColumnError.otherType(.int64, expected: .double)) {
            try ColumnValue(.int64(9_007_199_254_740_993), as: .double, in: Self.zone)
        }
    }

    @Test func whatDoesNotFitSaysWhy() throws {
        let zone = ZoneID(zoneName: "Notes", ownerRecordName: "_ann")
        let other = ZoneID(zoneName: "Other")
        let otherOwner = ZoneID(zoneName: "Notes", ownerRecordName: "_bob")
        let refused: [(FieldType.Known, FieldValue, ColumnError)] = [
            (.double, .double(.nan), .notFinite),
            (.double, .double(.infinity), .notFinite),
            (.doubleList, .doubleList([1, -.infinity]), .notFinite),
            (.location, .location(Location(latitude: .nan, longitude: 0)), .notFinite),
            (.timestamp, .timestamp(Date(timeIntervalSince1970: 1e16)), .dateOutOfRange),
            (.timestamp, .timestamp(Date(timeIntervalSince1970: .nan)), .dateOutOfRange),
            (.timestampList, .timestampList([Date(timeIntervalSince1970: -1e300)]), .dateOutOfRange),
            (.reference, .reference(Reference(recordName: "A", zoneID: other)), .otherZone(other, own: zone)),
            (.reference, .reference(Reference(recordName: "A", zoneID: otherOwner)), .otherZone(otherOwner, own: zone)),
            (.referenceList, .referenceList([Reference(recordName: "A", zoneID: other)]), .otherZone(other, own: zone)),
            (.reference, .reference(Reference(recordName: "A", action: "EXPLODE")), .unknownAction("EXPLODE")),
            (.string, 1, .otherType(.int64, expected: .string)),
            (.int64, 1.0, .otherType(.double, expected: .int64)),
            (.stringList, "a", .otherType(.string, expected: .stringList)),
            (.stringList, .int64List([1]), .otherType(.int64List, expected: .stringList)),
            (.string, try .read(#"{"value":"a","type":"MOOD"}"#), .otherType("MOOD", expected: .string)),
        ]
        for (type, value, error) in refused {
            #expect(throws: error, "\(type) \(value)") { try ColumnValue(value, as: type, in: zone) }
            #expect(!"\(error)".isEmpty)
        }
        #expect(throws: ColumnError.unknownAction("EXPLODE")) {
            try ColumnValue(actionOf: .reference(Reference(recordName: "A", action: "EXPLODE")))
        }
    }

    @Test func whatOtherProgramsWroteWrongIsAnError() {
        let wrong: [(FieldType.Known, ColumnValue)] = [
            (.string, .integer(1)), (.int64, .text("1")), (.double, .text("1")), (.timestamp, .real(1.5)),
            (.bytes, .text("AA==")), (.reference, .integer(1)), (.location, .text("{}")), (.location, .text("no JSON")),
            (.stringList, .text("[1]")), (.int64List, .text("[1.5]")), (.bytesList, .text(#"["?"]"#)),
            (.timestampList, .text(#"["1"]"#)), (.referenceList, .text("[{}]")), (.assetList, .text("{}")),
        ]
        for (type, value) in wrong {
            #expect(throws: ColumnError.malformed(type), "\(type)") { try value.fieldValue(as: type) }
        }
        for action in [ColumnValue.integer(3), .integer(-1), .integer(.max), .text("NONE")] {
            #expect(throws: ColumnError.malformed(.reference)) {
                try ColumnValue.text("A").fieldValue(as: .reference, action: action)
            }
        }
    }
}

extension FieldValue {
    /// Reads a field dictionary.
    fileprivate static func read(_ json: String) throws -> FieldValue {
        try JSONReader.read(from: json)
    }
}
