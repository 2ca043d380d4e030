import Foundation
import MistModels
import StreamingJSON
import Testing

/// Typed records whose JSON differs from the form of most responses, for which there is a fast path.
struct SpellingTests {
    @Test func whiteSpaceIsAllowedEverywhere() async throws {
        var model = Everything(number: 1)
        model.count = 3
        model.list = ["a"]
        let json = try JSONWriter.bytes(of: Record(fields: model))
        // The record once for each gap between two tokens, with white space in the gap.
        let pages = Self.placesBetweenTokens(of: json).map { place in
            json[..<place] + Array(" \n\t ".utf8) + json[place...]
        }
        let results = try await page(of: pages + [json[...]])
        #expect(results.count > 200)
        for result in results {
            let record = try result.get()
            #expect(record.model == model)
            #expect(record.otherFields.isEmpty)
        }
    }

    @Test func typesMayStandBeforeValuesAndBesideOtherKeys() async throws {
        let model = Everything(number: 1)
        let record = try Record(fields: model)
        let fields = try record.fields.map { field -> (name: String, value: String, type: String) in
            let members = try JSONReader.read([String: JSONRawValue].self, from: JSONWriter.bytes(of: field.value))
            return (field.name, "\(try #require(members["value"]))", "\(try #require(members["type"]))")
        }
        let results = try await page(
            of: [
                fields.map { #""\#($0.name)":{"type":\#($0.type),"value":\#($0.value)}"# },
                fields.map { #""\#($0.name)":{"value":\#($0.value),"type":\#($0.type),"isIndexed":true}"# },
                fields.map { #""\#($0.name)":{"isIndexed":true,"value":\#($0.value),"type":\#($0.type)}"# },
                fields.map { #""\#($0.name)":{"value":\#($0.value)}"# },
            ].map { fields in
                let start = #"{"recordName":"numbers","recordType":"Everything","fields":{"#
                return Array((start + fields.joined(separator: ",") + "}}").utf8)[...]
            }
        )
        for result in results.dropLast() { #expect(try result.get().model == model) }
        // Without its type, a time is read as a number, and bytes as a string.
        #expect(throws: CloudKitError.self) { try results.last?.get() }
    }

    @Test func itemsThatFailedSayWhichRequestTheyAreFrom() async throws {
        let results = try await page(
            of: [
                #"{"recordName":"a","serverErrorCode":"NOT_FOUND","reason":"gone"}"#,
                #"{"recordName":"b","recordType":"Everything","fields":{"number":{"value":"x","type":"STRING"}}}"#,
                #"{"recordType":"Everything"}"#,
            ].map { Array($0.utf8)[...] }
        )
        let errors = results.map { result -> CloudKitError? in
            guard case .failure(let error) = result else { return nil }
            return error
        }
        #expect(errors.map { $0?.code } == [.notFound, .decoding, .decoding])
        #expect(errors.map { $0?.item } == [.record(name: "a"), .record(name: "b"), nil])
        #expect(errors.allSatisfy { $0?.operation == "queryRecords" && $0?.requestUUID == FixedReply.requestUUID })
        #expect(errors[1]?.message.contains(#"the field "number" does not fit: expected INT64, found STRING"#) == true)
    }

    /// The results of a query whose response has these records.
    private func page(of records: [ArraySlice<UInt8>]) async throws -> [Result<StoredRecord<Everything>, CloudKitError>]
    {
        let service = CloudKitService(
            containerIdentifier: "iCloud.com.example.app",
            apiToken: String(repeating: "0", count: 64),
            configuration: .init(
                transport: FixedReply(
                    body: Array(#"{"records":["#.utf8) + records.joined(separator: [0x2C]) + Array("]}".utf8)
                )
            )
        )
        var pages = service.publicDatabase.records(matching: Query<Everything>()).pages.makeAsyncIterator()
        return try await pages.next()?.results ?? []
    }

    private static func placesBetweenTokens(of json: [UInt8]) -> [Int] {
        var places: [Int] = []
        var isInString = false
        var index = 0
        while index < json.count {
            switch json[index] {
            case UInt8(ascii: "\\"): index += 1
            case UInt8(ascii: "\""): isInString.toggle()
            case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: ":"),
                UInt8(ascii: ","):
                if !isInString { places += [index, index + 1] }
            default: break
            }
            index += 1
        }
        return places
    }
}
