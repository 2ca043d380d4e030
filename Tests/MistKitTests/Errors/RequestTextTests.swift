import CloudKitModel
import Foundation
import MistTesting
import StreamingJSON
import Testing

@testable import MistKit

/// What the messages of errors say about the refused request.
struct RequestTextTests {
    private func refusal(_ reason: String, code: CloudKitError.Code = .badRequest) -> CloudKitError {
        var error = CloudKitError(code: code, message: "Refused.")
        error.reason = reason
        return error
    }

    private let fields: [(name: String, value: FieldValue)] = [
        ("rating", 4), ("when", .timestamp(.distantPast)), ("gone", .null),
    ]

    @Test(arguments: [
        "Invalid value, expected type INT64.", "BadRequestException: Unexpected input",
    ]) func theFieldsOfTheRequestAreNamed(reason: String) {
        #expect(
            refusal(reason).naming(fields).message
                == "Refused. The service does not name the field; the request has rating (INT64), when (TIMESTAMP), gone."
        )
    }

    @Test func nothingIsAddedToAReasonThatNamesAField() {
        let texts = [
            refusal("invalid attempt to set value type INT64 for field 'rating'").naming(fields),
            refusal("Unexpected input for 'rating'").naming(fields),
            refusal("Unexpected input").naming([]),
            refusal("Unexpected input", code: .conflict).naming(fields),
        ].map(\.message)
        #expect(texts == Array(repeating: "Refused.", count: 4))
    }

    @Test func errorsNameAtMostTwentyFields() {
        let many = (0..<25).map { (name: "f\($0)", value: FieldValue.int64(1)) }
        #expect(refusal("Unexpected input").naming(many).message.hasSuffix("f19 (INT64), and 5 more."))
    }

    @Test func aRefusedRecordNamesItsFields() async throws {
        let json =
            #"{"recordType":"Note","recordName":"a","fields":{"n":{"value":"x","type":"INT64"},"m":{"value":1}}}"#
        let record = try JSONReader.read(Record.self, from: json)
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let error = await #expect(throws: CloudKitError.self) { try await database.create(record) }
            #expect(error?.reason == "Invalid value, expected type INT64.")
            #expect(error?.message.contains("the request has n (INT64), m.") == true, "\(error?.message ?? "")")
        }
    }

    @Test func aMarkerWithAnotherQueryIsExplained() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            let notes = (1...3).map { Record(recordType: "Note", fields: ["n": .int64($0)]) }
            for result in try await database.save(notes) { _ = try result.get() }
            func query(_ limit: Int64) -> Query<Record> {
                Query(recordType: "Note", filters: [Filter("n", .lessThan, .int64(limit))])
            }
            var pages = database.records(matching: query(9), pageSize: 1).pages.makeAsyncIterator()
            let marker = try await pages.next()?.marker
            let same = try await database.records(matching: query(9), startingAt: marker).collect()
            #expect(same.count == 2)
            let error = await #expect(throws: CloudKitError.self) {
                try await database.records(matching: query(8), startingAt: marker).collect()
            }
            #expect(error?.code == .badRequest)
            #expect(error?.message.contains("A marker belongs to the query that returned it") == true)
            #expect(error?.message.contains("schema") == false)
        }
    }
}
