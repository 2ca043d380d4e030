import Foundation
import Peated

/// What the stub knows.
struct StubState: Codable {
    static let largestImage = 10_000_000

    var users: [User]
    var bottles: [Bottle]
    /// Oldest first.
    var tastings: [StoredTasting]
    var accessTokens: [String: AccessToken] = [:]
    /// The users, by their refresh tokens.
    var refreshTokens: [String: String] = [:]
    var lastNumber = 0
    /// The pictures, by their identifiers.
    var images: [String: Data] = [:]
    /// By the user and the digest.
    var uploads: [String: StoredUpload] = [:]
    /// The first answer to each idempotency key, by the user and the key.
    var answers: [String: Tasting] = [:]

    struct StoredTasting: Codable {
        var tasting: Tasting
        var toastedBy: Set<String> = []
    }

    struct AccessToken: Codable {
        var user: String
        var issued: Date
    }

    struct StoredUpload: Codable {
        var bytes = Data()
        var imageID: String?
    }

    static var initial: StubState {
        let users = [
            User(id: "ada", username: "ada", displayName: "Ada"),
            User(id: "bob", username: "bob", displayName: "Bob"),
        ]
        let bottles = [
            Bottle(id: "b1", name: "10", brand: "Ardbeg", category: .singleMalt, statedAge: 10),
            Bottle(id: "b2", name: "16", brand: "Lagavulin", category: .singleMalt, statedAge: 16),
            Bottle(id: "b3", name: "Black Label", brand: "Johnnie Walker", category: .blend, statedAge: 12),
            Bottle(id: "b4", name: "Rare Breed", brand: "Wild Turkey", category: .bourbon),
            Bottle(id: "b5", name: "Straight Rye", brand: "Pikesville", category: .rye, statedAge: 6),
        ]
        let tastings = (1...45).map { number in
            StoredTasting(
                tasting: Tasting(
                    id: "t\(number)",
                    bottle: bottles[number % bottles.count],
                    author: users[number % users.count],
                    notes: "Dram no. \(number)",
                    rating: Double(number % 11) / 2,
                    tags: [],
                    toasts: 0,
                    hasToasted: false,
                    createdAt: Date(timeIntervalSince1970: 1_700_000_000 + Double(number) * 3600)
                )
            )
        }
        return StubState(users: users, bottles: bottles, tastings: tastings)
    }
}

extension Tasting {
    mutating func setImage(_ id: String) {
        imageId = id
        imageUrl = "/images/\(id).jpg"
    }
}
