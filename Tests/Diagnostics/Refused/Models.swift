import Foundation
import MistModels

@CloudKitRecord
struct Note {
    var title: String
    var rating: Int
    var isOpen: Bool
    var tags: [String]
    var place: Location?
    var file: Asset?
    var state: State
    @CloudKitField(.json) var settings: Settings
    @CloudKitField(.encrypted) var secret: String?

    var summary: String { title + "!" }
    var isGood: Bool { rating > 3 }

    enum State: String, FieldConvertible { case open, done }
    struct Settings: Codable, Hashable { var theme = "light" }
}
