import SwiftSyntax

/// An option of `@CloudKitField` that says how a local store merges the field.
enum MergePolicy: String, CaseIterable {
    case counter, union, greatest, smallest

    /// Whether a field can have the policy, as far as the spelling of its type shows it.
    func fits(_ type: TypeSyntax) -> Bool {
        switch (self, type.spelledType) {
        case (_, .unknown): true
        case (.counter, let spelled): spelled == .integer
        case (.greatest, let spelled), (.smallest, let spelled): spelled == .integer || spelled == .ordered
        case (.union, let spelled): spelled == .list && type.elementType?.plainName != "Asset"
        }
    }
}

/// The kind of a type, as far as its spelling shows it.
enum SpelledType {
    /// An integer of the standard library.
    case integer
    /// Another type whose values have an order: text, a number, a date.
    case ordered
    case reference
    case list
    /// Another known type, such as `Data`.
    case other
    /// A type that the program declares, such as an enum or a type alias.
    case unknown
}

extension TypeSyntax {
    var spelledType: SpelledType {
        if elementType != nil { return .list }
        switch plainName {
        case "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64":
            return .integer
        case "String", "Double", "Float", "Bool", "Date", "URL", "UUID":
            return .ordered
        case "Reference", "RecordReference":
            return .reference
        case "Data", "Location", "Asset", "Set", "Dictionary", "Any", nil:
            return .other
        default:
            return .unknown
        }
    }
}
