import CloudKitModel
import Foundation
import GRDB
import MistModels

/// A record of five fields of 150 bytes on average, which the benchmarks write, fetch and send.
@CloudKitRecord
struct Article {
    var title: String
    var author: String
    var link: String
    var summary: String
    var body: String
}

extension Article {
    static let columns = ["title", "author", "link", "summary", "body"]

    /// The texts of an article, 60, 30, 60, 200 and 400 bytes long.
    static func texts(_ number: Int) -> [String] {
        [
            text("What happened on day \(number) and what did not", 60),
            text("Author \(number % 977)", 30),
            text("https://news.example.com/2026/articles/\(number).html?page=", 60),
            text("Article \(number) in a sentence or two, as feeds have them. ", 200),
            text("The first paragraph of article \(number). ", 400),
        ]
    }

    private static func text(_ start: String, _ count: Int) -> String {
        var text = start
        while text.utf8.count < count { text += "Lorem ipsum dolor sit amet \(text.utf8.count). " }
        return String(text.prefix(count))
    }

    /// A UUID that is computed from the number; the order of the UUIDs is unrelated to that of the numbers.
    static func name(_ number: Int) -> String {
        var generator = SplitMix(state: UInt64(number))
        let (high, low) = (generator.next(), generator.next())
        let digits = [high, low].map { String(format: "%016lX", $0) }.joined()
        return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { range in
            String(digits.dropFirst(range.lowerBound).prefix(range.count))
        }.joined(separator: "-")
    }

    /// The article as a program saves it.
    static func record(_ number: Int) -> CloudKitModel.Record {
        let fields = zip(columns, texts(number)).map { ($0, FieldValue.string($1)) }
        return CloudKitModel.Record(
            recordType: recordType,
            recordName: name(number),
            fields: CloudKitModel.Record.Fields(fields)
        )
    }

    /// The article as a store saves it: with the times of its edits, in the form of `EditTimes`.
    static func storeRecord(_ number: Int) -> CloudKitModel.Record {
        var record = record(number)
        var generator = SplitMix(state: UInt64(number))
        func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) } }
        // One edit time: the device and 1 700 000 000 000 ms. Then the checksums of five fields and of the creation.
        var edits = Data([1, 2])
        edits += Data(repeating: 7, count: 8)
        edits += Data([0x80, 0xA0, 0xAB, 0xFE, 0xF9, 0x62, 12])
        for _ in 0..<6 { edits += random(4) + [0] }
        edits += Data([0, 0])
        record.fields["mist_edits"] = .bytes(edits)
        return record
    }
}

/// A record of six fields of several types, which queries find.
@CloudKitRecord
struct Item {
    @CloudKitField(.queryable) var shelf: Int
    @CloudKitField(.sortable) var title: String
    var author: String
    var pages: Int
    var price: Double
    var added: Date
}

/// A row of `Item` whose columns GRDB reads by their positions.
struct PositionalItem {
    let name: String
    let created: Int64?
    let modified: Int64?
    let tag: String?
    let shelf: Int
    let title: String
    let author: String
    let pages: Int
    let price: Double
    let added: Date

    init(_ row: Row) {
        name = row[0]
        created = row[1]
        modified = row[2]
        tag = row[3]
        shelf = row[4]
        title = row[5]
        author = row[6]
        pages = row[7]
        price = row[8]
        added = Date(timeIntervalSince1970: Double(row[9] as Int64) / 1000)
    }

    /// The columns in the order in which they are read.
    static let columns = """
        _recordName, _createdTimestamp, _modifiedTimestamp, _changeTag, "shelf", "title", "author", "pages", "price", "added"
        """
}

/// A row of `Item` as GRDB decodes it with `Codable`.
struct DecodableItem: Decodable, FetchableRecord {
    let _recordName: String
    let _createdTimestamp: Int64?
    let _modifiedTimestamp: Int64?
    let _changeTag: String?
    let shelf: Int
    let title: String
    let author: String
    let pages: Int
    let price: Double
    let added: Date

    static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
        .millisecondsSince1970
    }
}

/// Steele, Lea and Flood's generator: the same numbers in each run.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
