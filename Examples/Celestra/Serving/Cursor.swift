import Foundation

/// Where a page begins. Browsers pass it back as text whose content means nothing to them.
///
/// It holds the continuation marker of CloudKit, and the listing that the marker belongs to, so that a cursor of one
/// listing is refused by another.
struct Cursor: Sendable, Hashable, Codable {
    /// The listing: the path below `/api`.
    var listing: String
    /// The number of records of a page.
    var limit: Int
    /// CloudKit's continuation marker.
    var marker: String

    private enum CodingKeys: String, CodingKey {
        case listing = "l"
        case limit = "n"
        case marker = "m"
    }

    /// Creates a cursor.
    init(listing: String, limit: Int, marker: String) {
        self.listing = listing
        self.limit = limit
        self.marker = marker
    }

    /// Reads a cursor. Returns `nil` for text that is not a cursor of the listing.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - listing: The listing that it has to belong to.
    init?(_ text: String, of listing: String) {
        var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4)
        guard text.utf8.count <= 4096, let data = Data(base64Encoded: base64),
            let cursor = try? JSONDecoder().decode(Cursor.self, from: data), cursor.listing == listing,
            PageLimit.range.contains(cursor.limit), !cursor.marker.isEmpty
        else { return nil }
        self = cursor
    }

    /// The cursor as text: JSON in base64 for addresses (RFC 4648, section 5).
    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = (try? encoder.encode(self)) ?? Data()
        return data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

/// The number of records of a page.
enum PageLimit {
    static let usual = 20
    /// CloudKit returns at most 200; a page for people is shorter.
    static let range = 1...100
}
