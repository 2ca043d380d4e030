import CloudKitModel
import Foundation
import StreamingJSON
import TestSupport
import Testing

/// Random records are read, written and read again.
struct RecordPropertyTests {
    @Test func anyRecordIsWrittenAsItWasRead() throws {
        var generator = SeededGenerator()
        for round in 0..<400 {
            let json = String(decoding: try JSONWriter.bytes(of: RandomJSON.record(using: &generator)), as: UTF8.self)
            try expectRoundTrip(RecordResult.self, json, "seed \(SeededGenerator.seed), round \(round): \(json)")
        }
    }

    @Test func anyRecordMadeInMemoryIsReadAsItWasWritten() throws {
        var generator = SeededGenerator()
        for round in 0..<400 {
            let record = RandomValue.record(using: &generator)
            let bytes = try JSONWriter.bytes(of: record)
            #expect(
                try JSONReader.read(Record.self, from: bytes) == record,
                "seed \(SeededGenerator.seed), round \(round): \(String(decoding: bytes, as: UTF8.self))"
            )
        }
    }

    @Test func pagesOfRecordsAreReadAsTheirRecordsAre() throws {
        // Equal strings and zones are shared within a page, which must not mix up records.
        var generator = SeededGenerator()
        for round in 0..<20 {
            let objects = (0..<60).map { _ in RandomJSON.record(using: &generator) }
            let page = try JSONReader.read([RecordResult].self, from: JSONWriter.bytes(of: objects))
            for (result, object) in zip(page, objects) {
                let alone = try JSONReader.read(RecordResult.self, from: JSONWriter.bytes(of: object))
                #expect(result == alone, "seed \(SeededGenerator.seed), round \(round)")
            }
        }
    }

    @Test func damagedRecordsNeverTrap() throws {
        var generator = SeededGenerator()
        for _ in 0..<2000 {
            var bytes = try JSONWriter.bytes(of: RandomJSON.record(using: &generator))
            for _ in 0..<Int.random(in: 1...3, using: &generator) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes.remove(at: place)
                case 1: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                default: bytes.removeSubrange(place...)
                }
            }
            do throws(JSONError) {
                let result = try JSONReader.read(RecordResult.self, from: bytes)
                _ = try JSONWriter.bytes(of: result)
            } catch {
                #expect(error.offset != nil && error.path != nil, "seed \(SeededGenerator.seed)")
            }
        }
    }
}

private let strings = [
    "", "a", "Hello", "fifteen bytes!!", "sixteen bytes!!!", "Zoë Müller", "日本語", "😀😀", "\"quoted\\\"", "line\nbreak\t",
    "\u{0}\u{1}\u{1F}", "/slash/", "\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}",
    String(repeating: "long and plain ", count: 30), String(repeating: "ö", count: 40),
    "_cfcd54372a11173505ad48f023ba188d",
    "e\u{301}", "\u{E9}",
]

/// Values of the model's own types.
private enum RandomValue {
    static func record(using generator: inout SeededGenerator) -> Record {
        var record = Record(
            recordType: optional(string(using: &generator), using: &generator),
            recordName: optional(string(using: &generator), using: &generator),
            recordChangeTag: optional("1s2g", using: &generator),
            created: optional(stamp(using: &generator), using: &generator),
            modified: optional(stamp(using: &generator), using: &generator),
            isDeleted: optional(Bool.random(using: &generator), using: &generator),
            zoneID: optional(zone(using: &generator), using: &generator)
        )
        for _ in 0..<Int.random(in: 0...14, using: &generator) {
            record[string(using: &generator)] = field(using: &generator)
        }
        if Bool.random(using: &generator) {
            record.parent = Reference(recordName: string(using: &generator), zoneID: zone(using: &generator))
            record.shortGUID = string(using: &generator)
            record.shareAccess.participants = [
                Participant(
                    userIdentity: UserIdentity(
                        userRecordName: string(using: &generator),
                        nameComponents: NameComponents(
                            givenName: string(using: &generator),
                            phoneticRepresentation: NameComponents(familyName: string(using: &generator))
                        ),
                        lookupInfo: LookupInfo(emailAddress: string(using: &generator))
                    ),
                    type: .owner,
                    permission: "NEW_PERMISSION"
                )
            ]
        }
        return record
    }

    static func field(using generator: inout SeededGenerator) -> FieldValue {
        switch Int.random(in: 0..<19, using: &generator) {
        case 0: .string(string(using: &generator))
        case 1: .int64(.random(in: .min ... .max, using: &generator))
        case 2: .double(double(using: &generator))
        case 3: .timestamp(date(using: &generator))
        case 4: .bytes(data(using: &generator))
        case 5: .reference(reference(using: &generator))
        case 6: .asset(asset(using: &generator))
        case 7: .location(location(using: &generator))
        case 8: .stringList(list(using: &generator, string))
        case 9: .int64List(list(using: &generator) { .random(in: .min ... .max, using: &$0) })
        case 10: .doubleList(list(using: &generator, double))
        case 11: .timestampList(list(using: &generator, date))
        case 12: .bytesList(list(using: &generator, data))
        case 13: .referenceList(list(using: &generator, reference))
        case 14: .assetList(list(using: &generator, asset))
        case 15: .locationList(list(using: &generator, location))
        case 16: .null
        case 17: .encrypted(.string(string(using: &generator)))
        default: .encrypted(.bytes(data(using: &generator)))
        }
    }

    static func optional<Value>(_ value: Value, using generator: inout SeededGenerator) -> Value? {
        Bool.random(using: &generator) ? value : nil
    }

    static func list<Value>(
        using generator: inout SeededGenerator,
        _ make: (inout SeededGenerator) -> Value
    ) -> [Value] {
        (0..<Int.random(in: 0...6, using: &generator)).map { _ in make(&generator) }
    }

    static func string(using generator: inout SeededGenerator) -> String {
        strings.randomElement(using: &generator) ?? ""
    }

    static func double(using generator: inout SeededGenerator) -> Double {
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: Double(Int.random(in: -1000...1000, using: &generator))
        case 1: Double.random(in: -180...180, using: &generator)
        default: Double.random(in: -1e15...1e15, using: &generator)
        }
    }

    static func date(using generator: inout SeededGenerator) -> Date {
        Date(
            timeIntervalSince1970: Double(
                Int64.random(in: -62_135_596_800_000...253_402_300_799_999, using: &generator)
            ) / 1000
        )
    }

    static func data(using generator: inout SeededGenerator) -> Data {
        Data((0..<Int.random(in: 0...40, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }

    static func zone(using generator: inout SeededGenerator) -> ZoneID {
        ZoneID(
            zoneName: string(using: &generator),
            ownerRecordName: optional(string(using: &generator), using: &generator),
            zoneType: optional("NEW_TYPE", using: &generator)
        )
    }

    static func stamp(using generator: inout SeededGenerator) -> Record.Stamp {
        Record.Stamp(
            timestamp: date(using: &generator),
            userRecordName: optional(string(using: &generator), using: &generator),
            deviceID: optional(string(using: &generator), using: &generator)
        )
    }

    static func reference(using generator: inout SeededGenerator) -> Reference {
        Reference(
            recordName: string(using: &generator),
            action: [.none, .deleteSelf, .validate, "NEW_ACTION"].randomElement(using: &generator) ?? .none,
            zoneID: optional(zone(using: &generator), using: &generator)
        )
    }

    static func asset(using generator: inout SeededGenerator) -> Asset {
        Asset(
            fileChecksum: optional(string(using: &generator), using: &generator),
            size: optional(.random(in: 0...(.max), using: &generator), using: &generator),
            wrappingKey: optional(string(using: &generator), using: &generator),
            referenceChecksum: optional(string(using: &generator), using: &generator),
            downloadURL: optional(string(using: &generator), using: &generator),
            receipt: optional(string(using: &generator), using: &generator)
        )
    }

    static func location(using generator: inout SeededGenerator) -> Location {
        Location(
            latitude: double(using: &generator),
            longitude: double(using: &generator),
            altitude: optional(double(using: &generator), using: &generator),
            course: optional(double(using: &generator), using: &generator),
            timestamp: optional(date(using: &generator), using: &generator)
        )
    }
}

/// JSON in the form of records, with random values, types and unknown keys.
private enum RandomJSON {
    static func record(using generator: inout SeededGenerator) -> JSONValue {
        var members: [String: JSONValue] = [:]
        add("recordName", .string(string(using: &generator)), to: &members, using: &generator)
        add("recordType", .string(string(using: &generator)), to: &members, using: &generator)
        add("recordChangeTag", .string(string(using: &generator)), to: &members, using: &generator)
        add("deleted", .bool(.random(using: &generator)), to: &members, using: &generator)
        add("zoneID", zone(using: &generator), to: &members, using: &generator)
        for stamp in ["created", "modified"] {
            add(
                stamp,
                .object([
                    "timestamp": .integer(.random(in: -62_135_596_800_000...253_402_300_799_999, using: &generator)),
                    "userRecordName": .string(string(using: &generator)),
                    "unknown": value(depth: 2, using: &generator),
                ]),
                to: &members,
                using: &generator
            )
        }
        for name in ["stableUrl", "expirationTime", string(using: &generator)] where members[name] == nil {
            add(name, value(depth: 3, using: &generator), to: &members, using: &generator)
        }
        if Int.random(in: 0..<8, using: &generator) == 0 {
            members["serverErrorCode"] = .string(string(using: &generator))
            members["created"] = nil
            members["modified"] = nil
        }
        var fields: [String: JSONValue] = [:]
        for _ in 0..<Int.random(in: 0...12, using: &generator) {
            fields[string(using: &generator)] = field(using: &generator)
        }
        add("fields", .object(fields), to: &members, using: &generator)
        return .object(members)
    }

    private static func field(using generator: inout SeededGenerator) -> JSONValue {
        let types = [
            "STRING", "INT64", "DOUBLE", "TIMESTAMP", "BYTES", "REFERENCE", "ASSETID", "ASSET", "LOCATION",
            "STRING_LIST",
            "INT64_LIST", "DOUBLE_LIST", "TIMESTAMP_LIST", "BYTES_LIST", "REFERENCE_LIST", "ASSETID_LIST",
            "LOCATION_LIST",
            "UNKNOWN_LIST", "ENCRYPTED_BYTES", "EMAIL", "NUMBER_INT64", "NUMBER_DOUBLE", "PACKAGE", "",
        ]
        var members: [String: JSONValue] = [:]
        add("value", value(depth: 3, using: &generator), to: &members, using: &generator)
        add("type", .string(types.randomElement(using: &generator) ?? ""), to: &members, using: &generator)
        if Int.random(in: 0..<4, using: &generator) == 0 {
            add("isEncrypted", .bool(.random(using: &generator)), to: &members, using: &generator)
        }
        if Int.random(in: 0..<6, using: &generator) == 0 {
            members["unknown"] = value(depth: 2, using: &generator)
        }
        return .object(members)
    }

    private static func zone(using generator: inout SeededGenerator) -> JSONValue {
        var members: [String: JSONValue] = [:]
        add("zoneName", .string(string(using: &generator)), to: &members, using: &generator)
        // A zone without a name is the default zone, and is written with its name.
        if members["zoneName"] == nil {
            members["zoneName"] = .string("_defaultZone")
        }
        add("ownerRecordName", .string(string(using: &generator)), to: &members, using: &generator)
        add("ownerName", .string(string(using: &generator)), to: &members, using: &generator)
        return .object(members)
    }

    /// Adds a member, a null, or nothing.
    private static func add(
        _ name: String,
        _ value: JSONValue,
        to members: inout [String: JSONValue],
        using generator: inout SeededGenerator
    ) {
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: members[name] = .null
        case 1: break
        default: members[name] = value
        }
    }

    private static func value(depth: Int, using generator: inout SeededGenerator) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 13 : 9), using: &generator) {
        case 0: .null
        case 1: .bool(.random(using: &generator))
        case 2: .integer(.random(in: -10...10, using: &generator))
        case 3: .integer(.random(in: -9_000_000_000_000_000...9_000_000_000_000_000, using: &generator))
        case 4: .double(RandomValue.double(using: &generator))
        case 5: .string(RandomValue.data(using: &generator).base64EncodedString())
        case 6: .string(String(Int.random(in: -5000...5000, using: &generator)))
        case 7, 8: .string(string(using: &generator))
        case 9:
            .array(RandomValue.list(using: &generator) { value(depth: depth - 1, using: &$0) })
        case 10:
            .object(["recordName": .string(string(using: &generator)), "action": value(depth: 0, using: &generator)])
        case 11:
            .object(["latitude": .double(1.5), "longitude": value(depth: 0, using: &generator)])
        default:
            .object([string(using: &generator): value(depth: depth - 1, using: &generator)])
        }
    }

    private static func string(using generator: inout SeededGenerator) -> String {
        RandomValue.string(using: &generator)
    }
}
