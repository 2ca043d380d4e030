import MistModels

struct Theme: Hashable { var name = "light" }

// error: A field with .json needs a type that is Codable and Sendable. Write struct Settings: Codable.
@CloudKitRecord
struct Preferences {
    @CloudKitField(.json) var theme: Theme
    @CloudKitField(.json) var other: Theme?
}
