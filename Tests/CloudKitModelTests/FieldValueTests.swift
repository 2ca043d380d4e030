import CloudKitModel
import Foundation
import StreamingJSON
import Testing

struct FieldValueTests {
    @Test(arguments: ["nan", "inf", "-infinity"])
    func textThatIsNoNumberOfTheServiceIsKeptAsItCame(text: String) throws {
        for type in ["DOUBLE", "TIMESTAMP"] {
            let json = #"{"value":"\#(text)","type":"\#(type)"}"#
            let value = try JSONReader.read(FieldValue.self, from: json)
            #expect(value.doubleValue == nil)
            #expect(value.timestampValue == nil)
            #expect(value == value)
            #expect(String(decoding: try JSONWriter.bytes(of: value), as: UTF8.self) == json)
        }
        #expect(throws: JSONError.self) {
            try JSONReader.read(Record.self, from: #"{"created":{"timestamp":"\#(text)"}}"#)
        }
    }

    @Test(
        arguments: [
            (.string("a"), #"{"value":"a","type":"STRING"}"#),
            (.int64(.min), #"{"value":-9223372036854775808,"type":"INT64"}"#),
            (.bool(true), #"{"value":1,"type":"INT64"}"#),
            (.double(3), #"{"value":3.0,"type":"DOUBLE"}"#),
            (.timestamp(Date(timeIntervalSince1970: 1.0004)), #"{"value":1000,"type":"TIMESTAMP"}"#),
            (
                .timestamp(Date(timeIntervalSince1970: -62_135_596_800)),
                #"{"value":-62135596800000,"type":"TIMESTAMP"}"#
            ),
            (.bytes(Data([0xFB, 0xFF])), #"{"value":"+/8=","type":"BYTES"}"#),
            (
                .reference(Reference(recordName: "R", action: .validate)),
                #"{"value":{"recordName":"R","action":"VALIDATE"},"type":"REFERENCE"}"#
            ),
            (
                .asset(Asset(fileChecksum: "c", size: 3, receipt: "r")),
                #"{"value":{"fileChecksum":"c","size":3,"receipt":"r"},"type":"ASSETID"}"#
            ),
            (
                .location(Location(latitude: 1, longitude: -2.5, timestamp: Date(timeIntervalSince1970: 2))),
                #"{"value":{"latitude":1.0,"longitude":-2.5,"timestamp":2000},"type":"LOCATION"}"#
            ),
            (.list(["a", "b"]), #"{"value":["a","b"],"type":"STRING_LIST"}"#),
            (.list([String]()), #"{"value":[],"type":"STRING_LIST"}"#),
            (.list([1, 2]), #"{"value":[1,2],"type":"INT64_LIST"}"#),
            (.list([1.0, 2.5]), #"{"value":[1.0,2.5],"type":"DOUBLE_LIST"}"#),
            (.list([Date(timeIntervalSince1970: 1)]), #"{"value":[1000],"type":"TIMESTAMP_LIST"}"#),
            (.list([Data([0])]), #"{"value":["AA=="],"type":"BYTES_LIST"}"#),
            (
                .list([Reference(recordName: "R")]),
                #"{"value":[{"recordName":"R","action":"NONE"}],"type":"REFERENCE_LIST"}"#
            ),
            (.list([Asset(fileChecksum: "c")]), #"{"value":[{"fileChecksum":"c"}],"type":"ASSETID_LIST"}"#),
            (
                .list([Location(latitude: 1, longitude: 2)]),
                #"{"value":[{"latitude":1.0,"longitude":2.0}],"type":"LOCATION_LIST"}"#
            ),
            (.null, #"{"value":null}"#),
            (.encrypted("x"), #"{"value":"x","type":"STRING","isEncrypted":true}"#),
            (.encrypted(.encrypted(.list([1]))), #"{"value":[1],"type":"INT64_LIST","isEncrypted":true}"#),
        ] as [(FieldValue, String)]
    )
    func valuesAreWrittenWithTheTypeThatTheServiceNeeds(value: FieldValue, json: String) throws {
        #expect(String(decoding: try JSONWriter.bytes(of: value), as: UTF8.self) == json)
        let indented = try JSONWriter.bytes(of: value, options: .prettyPrinted)
        #expect(try JSONRawValue(parsing: indented) == JSONRawValue(parsing: json))
        try expectRoundTrip(FieldValue.self, json)
    }

    @Test func valuesReadBackAsTheSameCases() throws {
        let values: [FieldValue] = [
            "text", 3, 2.5, true, .timestamp(Date(timeIntervalSince1970: 1.5)), .bytes(Data([1, 2, 3])),
            .reference(Reference(recordName: "R", action: .deleteSelf, zoneID: ZoneID(zoneName: "Z"))),
            .asset(Asset(downloadURL: "https://example.com/${f}")), .location(Location(latitude: 1.5, longitude: 2)),
            .list(["a"]), .list([1]), .list([1.5]), .list([Date(timeIntervalSince1970: 9)]), .list([Data([9])]),
            .list([Reference(recordName: "R")]), .list([Asset(size: 1)]), .list([Location(latitude: 1, longitude: 2)]),
            .null, .encrypted(3), .encrypted(.bytes(Data())),
        ]
        for value in values {
            #expect(try JSONReader.read(FieldValue.self, from: JSONWriter.bytes(of: value)) == value)
        }
    }

    /// Each type of the document is read as its own case, and a list as elements of its type.
    @Test(arguments: FieldType.allCases.filter { $0 != .unknownList && $0 != .encryptedBytes })
    func everyTypeOfTheDocumentHasACase(type: FieldType) throws {
        let scalars: [FieldType: String] = [
            .string: #""a""#, .int64: "3", .double: "2.5", .timestamp: "1000", .bytes: #""AQI=""#,
            .reference: #"{"recordName":"R","action":"NONE"}"#, .asset: #"{"fileChecksum":"c"}"#,
            .location: #"{"latitude":1.0,"longitude":2.0}"#,
        ]
        let isList = type.rawValue.hasSuffix("_LIST")
        let scalar = isList ? FieldType(rawValue: String(type.rawValue.dropLast("_LIST".count))) : type
        let sample = try #require(scalars[scalar], "\(scalar) needs a sample here")
        let json = isList ? "[\(sample)]" : sample
        let value = try expectRoundTrip(FieldValue.self, #"{"value":\#(json),"type":"\#(type.rawValue)"}"#)
        if case .unknown = value.plain { Issue.record("FieldType.Known does not have \(type)") }
        if case .verbatim = value { Issue.record("\(type) is not written as it is read") }
        #expect(value.type == type)
        let elements = value.elements
        #expect((elements == nil) == !isList, "FieldValue.elements takes lists apart, and nothing else")
        if let elements {
            #expect(elements.map(\.type) == [scalar])
            #expect(
                scalar.known.flatMap { FieldValue.list(elements, of: $0) } == value,
                "FieldValue.list(_:of:) makes a list of elements"
            )
        }
    }

    /// Each value has another form than the one that is written for it. It is read with its type, and written in the
    /// form that was read.
    @Test(
        arguments: [
            (#"{"value":"a"}"#, .string("a"), nil),
            (#"{"value":1}"#, .int64(1), nil),
            (#"{"value":1.5}"#, .double(1.5), nil),
            (#"{"value":true}"#, .int64(1), nil),
            (#"{"value":{"recordName":"R"}}"#, .reference(Reference(recordName: "R")), nil),
            (
                #"{"value":{"latitude":1,"longitude":2}}"#, .location(Location(latitude: 1, longitude: 2)), nil
            ),
            (
                #"{"value":{"fileChecksum":"c","receipt":"r"}}"#, .asset(Asset(fileChecksum: "c", receipt: "r")), nil
            ),
            (#"{"value":["a"]}"#, .stringList(["a"]), nil),
            (#"{"value":[1,2]}"#, .int64List([1, 2]), nil),
            (#"{"value":[1,2.5]}"#, .doubleList([1, 2.5]), nil),
            (#"{"value":[2.5,1]}"#, .doubleList([2.5, 1]), nil),
            (#"{"value":[{"recordName":"R"}]}"#, .referenceList([Reference(recordName: "R")]), nil),
            (#"{"value":"SGk=","type":"ENCRYPTED_BYTES"}"#, .bytes(Data("Hi".utf8)), "ENCRYPTED_BYTES"),
            (#"{"value":"a@b.c","type":"EMAIL"}"#, .string("a@b.c"), "EMAIL"),
            (#"{"value":5,"type":"NUMBER_INT64"}"#, .int64(5), "NUMBER_INT64"),
            (#"{"value":5,"type":"NUMBER_DOUBLE"}"#, .double(5), "NUMBER_DOUBLE"),
            (#"{"value":{"size":1},"type":"ASSET"}"#, .asset(Asset(size: 1)), "ASSET"),
            (#"{"value":[{"size":1}],"type":"ASSET_LIST"}"#, .assetList([Asset(size: 1)]), "ASSET_LIST"),
            (#"{"value":"5","type":"INT64"}"#, .int64(5), "INT64"),
            (#"{"value":"2.5","type":"DOUBLE"}"#, .double(2.5), "DOUBLE"),
            (#"{"value":"1000","type":"TIMESTAMP"}"#, .timestamp(Date(timeIntervalSince1970: 1)), "TIMESTAMP"),
            (#"{"value":["1","2"],"type":"INT64_LIST"}"#, .int64List([1, 2]), "INT64_LIST"),
            (#"{"value":1500.5,"type":"TIMESTAMP"}"#, .timestamp(Date(timeIntervalSince1970: 1.5005)), "TIMESTAMP"),
            (#"{"value":"SGk","type":"BYTES"}"#, .bytes(Data("Hi".utf8)), "BYTES"),
            (#"{"value":"SGl=","type":"BYTES"}"#, .bytes(Data("Hi".utf8)), "BYTES"),
            (#"{"value":9007199254740993,"type":"DOUBLE"}"#, .double(9_007_199_254_740_992), "DOUBLE"),
            (#"{"value":null,"type":"STRING"}"#, .null, "STRING"),
            (#"{"type":"STRING"}"#, .null, "STRING"),
            (#"{}"#, .null, nil),
            (#"{"value":"a","type":"STRING","isEncrypted":false}"#, .string("a"), "STRING"),
            (#"{"value":"a","type":"STRING","extra":[1]}"#, .string("a"), "STRING"),
            (#"{"value":"a","type":null}"#, .string("a"), nil),
            (
                #"{"value":"SGk=","type":"ENCRYPTED_BYTES","isEncrypted":true}"#, .bytes(Data("Hi".utf8)),
                "ENCRYPTED_BYTES"
            ),
        ] as [(String, FieldValue, FieldType?)]
    )
    func unusualFormsAreTypedAndWrittenAsTheyCame(json: String, plain: FieldValue, type: FieldType?) throws {
        let value = try expectRoundTrip(FieldValue.self, json)
        #expect(describe(value.plain) == describe(plain))
        #expect(value.type == type)
        #expect(value.isEncrypted == json.contains("true}") && json.contains("isEncrypted") || !value.isEncrypted)
    }

    @Test func listsOfAssetsHaveTheirFilesUnderEitherName() throws {
        for name in ["ASSETID_LIST", "ASSET_LIST"] {
            let value = try JSONReader.read(FieldValue.self, from: #"{"value":[{"size":1}],"type":"\#(name)"}"#)
            #expect(value.assetListValue == [Asset(size: 1)])
        }
    }

    /// References that were read without an action are written without one, but are equal to those with the default
    /// action.
    private func describe(_ value: FieldValue) -> String {
        switch value {
        case .reference(let reference): "\(reference.recordName) \(reference.action)"
        case .referenceList(let references): references.map { "\($0.recordName) \($0.action)" }.joined()
        default: "\(value)"
        }
    }

    @Test(arguments: [
        #"{"value":"a","type":"INT64"}"#, #"{"value":1.5,"type":"INT64"}"#,
        #"{"value":9223372036854775808,"type":"INT64"}"#, #"{"value":1,"type":"STRING"}"#,
        #"{"value":"?","type":"BYTES"}"#, #"{"value":{},"type":"REFERENCE"}"#,
        #"{"value":{"recordName":1},"type":"REFERENCE"}"#, #"{"value":{"latitude":1},"type":"LOCATION"}"#,
        #"{"value":{"latitude":"1","longitude":"2"},"type":"LOCATION"}"#, #"{"value":[1,null],"type":"INT64_LIST"}"#,
        #"{"value":["a",1],"type":"STRING_LIST"}"#, #"{"value":[null],"type":"STRING_LIST"}"#,
        #"{"value":[],"type":"UNKNOWN_LIST"}"#, #"{"value":{"a":[1e400]},"type":"STREAMING_ASSET"}"#,
        #"{"value":{"a":1}}"#, #"{"value":[]}"#, #"{"value":["a",1]}"#, #"{"value":[[1]]}"#,
        #"{"value":true,"type":"INT64"}"#, #"{"value":1e400,"type":"DOUBLE"}"#, #""text""#, "null", "[1]", "12",
    ])
    func whatDoesNotFitIsKeptWhole(json: String) throws {
        let value = try JSONReader.read(FieldValue.self, from: json)
        let raw = try JSONRawValue(parsing: json)
        #expect(try JSONRawValue(parsing: JSONWriter.bytes(of: value)) == raw)
        guard case .unknown = value.plain else {
            Issue.record("\(value)")
            return
        }
    }

    @Test func theValueMayStandBeforeOrBehindItsType() throws {
        #expect(
            try JSONReader.read(FieldValue.self, from: #"{"type":"BYTES","value":"SGk="}"#) == .bytes(Data("Hi".utf8))
        )
        #expect(
            try JSONReader.read(FieldValue.self, from: #"{"value":"SGk=","type":"BYTES"}"#) == .bytes(Data("Hi".utf8))
        )
        #expect(
            try JSONReader.read(FieldValue.self, from: #" { "isEncrypted" : true , "value" : 3 , "type" : "INT64" } "#)
                == .encrypted(3)
        )
        // If a key occurs twice, the last one counts.
        #expect(
            try JSONReader.read(FieldValue.self, from: #"{"value":1,"type":"STRING","value":"a"}"#) == .string("a")
        )
        #expect(
            try JSONReader.read(FieldValue.self, from: #"{"value":"a","type":"BYTES","type":"\u0053TRING"}"#)
                == .string("a")
        )
    }

    @Test func emptyListsOfNoTypeAreEmptyListsOfAnyType() throws {
        let value = try JSONReader.read(FieldValue.self, from: #"{"value":[],"type":"UNKNOWN_LIST"}"#)
        #expect(value.stringListValue == [])
        #expect(value.referenceListValue == [])
        #expect(value.stringValue == nil)
    }

    @Test(
        arguments: [
            .double(.infinity), .double(.nan), .timestamp(.distantFuture.addingTimeInterval(1e18)),
            .location(Location(latitude: .nan, longitude: 0)),
        ] as [FieldValue]
    )
    func whatJSONCannotHoldIsRefused(value: FieldValue) {
        let error = #expect(throws: JSONError.self) { try JSONWriter.bytes(of: value) }
        #expect(error?.code == .notRepresentable)
    }

    @Test func fieldValuesTakeAtMost17Bytes() {
        #expect(MemoryLayout<FieldValue>.size <= 17)
    }
}
