import Foundation
import MistModels

/// A feed of an RSS service.
@CloudKitRecord("Feed")
struct Feed: Hashable {
    @CloudKitField(.queryable) var feedURL: URL
    var title: String
    var summary: String?
    @CloudKitField(.queryable) var category: String
    @CloudKitField(.queryable, .sortable) var qualityScore: Int
    var isActive: Bool = true
    var tags: [String] = []
    var lastFetched: Date?
}

/// An article of a feed.
@CloudKitRecord
struct Article: Hashable {
    var feedRecordName: String
    var feed: RecordReference<Feed>
    var guid: String
    var title: String
    var url: URL
    var contentHash: String
    @CloudKitField(.queryable, .sortable) var publishedDate: Date
    var fetchedAt: Date
    var expiresAt: Date
    var tags: [String] = []
}

enum Status: String, FieldConvertible, CaseIterable { case active, suspended }
enum Level: Int, FieldConvertible {
    case low = 1
    case high = 9
}
struct Settings: Codable, Hashable, Sendable {
    var theme = "light"
    var sizes: [String: Int] = [:]
}

/// Every type that a property may have.
@CloudKitRecord("Everything")
struct Everything: Hashable {
    var string: String
    @CloudKitField("number") var int: Int
    var small: Int8
    var unsigned: UInt32
    var double: Double
    var float: Float
    var flag: Bool
    var date: Date
    var data: Data
    var url: URL
    var uuid: UUID
    var status: Status
    var level: Level
    var place: Location
    var pointer: Reference
    var feed: RecordReference<Feed>
    var file: Asset?
    var text: String?
    var count: Int?
    var maybe: Status?
    var strings: [String]
    var ints: [Int]
    var doubles: [Double]
    var dates: [Date]
    var blobs: [Data]
    var urls: [URL]
    var levels: [Level]
    var flags: [Bool]
    var places: [Location]
    var pointers: [RecordReference<Feed>]
    var list: [String]?
    @CloudKitField(.encrypted) var secret: String?
    @CloudKitField("hiddenList", .encrypted) var hidden: [Int]?
    @CloudKitField(.json) var settings: Settings
    @CloudKitField(.json) var extra: [String: Int]?
    @CloudKitField("cloaked", .json, .encrypted) var cloaked: Settings?
    let constant = 5
    static let shared = 1
    @CloudKitIgnored var isSelected = false
    private var hiddenScore = 3
    var observed = 1 { didSet { isSelected = true } }
    var summary: String { "\(string) \(int)" }

    var score: Int {
        get { hiddenScore }
        set { hiddenScore = newValue }
    }

    init(number: Int) {
        string = "text \(number)"
        int = number
        small = -7
        unsigned = .max
        double = 2
        float = 0.5
        flag = true
        date = Date(timeIntervalSince1970: 1_767_225_600.25)
        data = Data([0, 255])
        url = URL(string: "https://example.com/a?b=c")!
        uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")!
        status = .suspended
        level = .high
        place = Location(latitude: 59.9, longitude: 10.7, altitude: 3)
        pointer = Reference(recordName: "elsewhere")
        feed = RecordReference(recordName: "feed-1")
        strings = ["a", ""]
        ints = [.min, 0, .max]
        doubles = [0.1, -3]
        dates = [Date(timeIntervalSince1970: 0)]
        blobs = [Data(), Data([7])]
        urls = [URL(string: "https://example.com")!]
        levels = [.low, .high]
        flags = [true, false]
        places = [Location(latitude: 1, longitude: 2)]
        pointers = [RecordReference(recordName: "feed-2")]
        settings = Settings(theme: "dark", sizes: ["b": 2, "a": 1])
    }
}
