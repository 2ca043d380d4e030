import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Foundation
import StreamingJSON
import TestSupport
import Testing

/// A response that is only written equals a response whose records are decoded and encoded again.
struct WrittenReplyTests {
    @Test(arguments: [1, 2, 3, UInt64.random(in: 4 ... .max)])
    func aWrittenReplyIsEqualToOneOfValues(seed: UInt64) throws {
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let world = try World()
        try world.modify(.note(.create, "empty"), .note(.create, "root"))
        for index in 0..<60 {
            var record = Record(
                recordType: ["Note", "Other"].randomElement(using: &generator) ?? "",
                recordName: "r\(index)"
            )
            record.fields = randomFields(using: &generator)
            if Bool.random(using: &generator) { record.parent = Reference(recordName: "root") }
            record.createShortGUID = Bool.random(using: &generator) ? true : nil
            let result = try world.modify(RecordOperation(.create, record: record))
            #expect(!result[0].contains("!"), "seed \(seed)")
        }
        for _ in 0..<20 {
            let name = "r\(Int.random(in: 0..<60, using: &generator))"
            try world.modify(.note(.forceUpdate, name, randomFields(using: &generator)))
        }
        try world.modify(.note(.forceDelete, "r7"))
        let photo = try world.upload([1, 2, 3], for: "photo", named: "p")
        try world.modify(.note(.create, "p", ["photo": .asset(photo)]))
        var share = Record(recordType: "cloudkit.share", recordName: "S")
        share.shareAccess.forRecord = RecordVersion(recordName: "root", recordChangeTag: try world.tag("root"))
        try world.modify(RecordOperation(.create, record: share))

        let ann = try world.asAnn()
        let names = ["empty", "p", "S", "r7", "missing"] + (0..<60).map { "r\($0)" }
        for desiredKeys in [nil, ["text", "photo"], []] as [[String]?] {
            for numbersAsStrings in [false, true] {
                try expectEqualReplies("lookup, seed \(seed)", ann) {
                    try $0.lookupRecords(
                        .init(
                            records: names.map { .init(recordName: $0) },
                            zoneID: World.notes,
                            desiredKeys: desiredKeys,
                            numbersAsStrings: numbersAsStrings
                        )
                    ).records
                }
                for type in ["Note", "Other", "cloudkit.share"] {
                    for sorts in [[], [QuerySort("number")]] where type != "cloudkit.share" || sorts.isEmpty {
                        try expectEqualReplies("query of \(type), seed \(seed)", ann) {
                            try $0.queryRecords(
                                .init(
                                    query: RecordQuery(recordType: type, sorts: sorts),
                                    zoneID: World.notes,
                                    desiredKeys: desiredKeys,
                                    numbersAsStrings: numbersAsStrings
                                )
                            ).records
                        }
                    }
                }
                try expectEqualReplies("changes, seed \(seed)", ann) {
                    try $0.fetchRecordChanges(
                        .init(
                            zoneID: World.notes,
                            desiredKeys: desiredKeys,
                            numbersAsStrings: numbersAsStrings
                        )
                    ).records
                }
            }
        }
    }

    @Test func recordsThatAreOnlyWrittenAreNotTakenApart() throws {
        let world = try World()
        try world.modify(.note(.create, "A", ["title": "Milk"]))
        func output(_ form: RequestContext.ReplyForm) throws -> RecordOutput? {
            var ann = try world.asAnn()
            ann.replyForm = form
            return try ann.lookupRecords(.init(records: [.init(recordName: "A")], zoneID: World.notes)).records?.first
        }
        guard case .result(.success(let record)) = try output(.values), case .stored(let stored) = try output(.written)
        else {
            Issue.record("The form of the reply is not the one that was asked for.")
            return
        }
        #expect(record.fields == ["title": "Milk"])
        #expect(stored.content.description == #"{"fields":{"title":{"value":"Milk","type":"STRING"}}}"#)
        #expect(try output(.written)?.result == .success(record))
    }

    private func expectEqualReplies(
        _ comment: String,
        _ ann: RequestContext,
        _ fetch: (RequestContext) throws -> [RecordOutput]?
    ) throws {
        let values = try #require(try fetch(ann))
        var ann = ann
        ann.replyForm = .written
        let written = try #require(try fetch(ann))
        #expect(values.count == written.count, "\(comment)")
        for (value, written) in zip(values, written) {
            #expect(try reply(value) == reply(written), "\(comment)")
        }
    }

    /// The JSON that the server writes for a result.
    private func reply(_ result: RecordOutput) throws -> JSONValue {
        try JSONReader.read(from: JSONWriter.bytes(of: result, options: .wholeDoublesWithoutFraction))
    }

    private static let texts = ["", "Hello", "\"quoted\\\"", "line\nbreak", "日本語 😀", "e\u{301}", "\u{E9}", "/slash/"]

    private func randomFields(using generator: inout SeededGenerator) -> Record.Fields {
        let text = Self.texts.randomElement(using: &generator) ?? ""
        let number = Int64.random(in: .min ... .max, using: &generator)
        let double =
            Double.random(in: -1...1, using: &generator)
            * ([1, 1e-300, 1e17, 1e300].randomElement(using: &generator) ?? 1)
        let date = Date(timeIntervalSince1970: Double(Int.random(in: -1_000_000...2_000_000_000, using: &generator)))
        let place = Location(latitude: Double.random(in: -90...90, using: &generator), longitude: 10.75)
        let reference = Reference(recordName: "root", action: Bool.random(using: &generator) ? .deleteSelf : .none)
        let all: [(String, FieldValue)] = [
            ("text", .string(text)), ("number", .int64(number)), ("double", .double(double)),
            ("date", .timestamp(date)),
            ("data", .bytes(Data(text.utf8))), ("place", .location(place)), ("link", .reference(reference)),
            ("texts", .stringList(Self.texts)), ("numbers", .int64List([number, 0])),
            ("doubles", .doubleList([double])),
            ("dates", .timestampList([date])), ("datas", .bytesList([Data([0, 255])])),
            ("places", .locationList([place])),
            ("links", .referenceList([reference])), ("secret", .encrypted(.string(text))), ("nothing", .null),
            ("none", .stringList([])), ("unknown", .list([] as [String])),
        ]
        return Record.Fields(all.filter { _ in Bool.random(using: &generator) }.shuffled(using: &generator))
    }
}
