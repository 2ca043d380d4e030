/// Typed records in Swift for the record types of a schema: a file with a struct for each.
///
/// ```swift
/// let schema = try ContainerSchema(parsing: "DEFINE SCHEMA RECORD TYPE Note (title STRING QUERYABLE, body_text STRING);")
/// print(RecordModels(of: schema).files[0].source)
/// // import MistModels
/// //
/// // /// A record of the type `Note`.
/// // @CloudKitRecord
/// // struct Note: Hashable {
/// //     @CloudKitField(.queryable) var title: String?
/// //     @CloudKitField("body_text") var bodyText: String?
/// // }
/// ```
///
/// Every property is optional or a list, since a schema does not say which fields a record always has. You can make
/// properties non-optional where your program always sets them. `INT64` becomes `Int`; you can change it to `Bool` for
/// a field that holds only 0 and 1.
public struct RecordModels: Hashable, Sendable {
    /// A Swift file.
    public struct File: Hashable, Sendable {
        /// The file's name, such as `Note.swift`.
        public var name: String
        /// The record type that it is for.
        public var recordType: String
        /// The Swift source.
        public var source: String
    }

    /// The files, in the order of the record types. There is no file for the service's own types, such as `Users` and
    /// `cloudkit.share`, and none for a type that has only system fields.
    public let files: [File]

    /// Writes the structs.
    ///
    /// - Parameters:
    ///   - schema: The schema. Types and fields whose names are not valid are left out; ``ContainerSchema/problems()``
    ///     reports them.
    ///   - recordTypes: The names of the record types that get a struct; all record types when `nil`.
    public init(of schema: ContainerSchema, recordTypes: Set<String>? = nil) {
        var names = SwiftNames(reserved: SwiftNames.reservedTypes)
        var files: [File] = []
        for type in schema.recordTypes where ContainerSchema.problem(ofName: type.name) == nil {
            // A name is taken even when its struct is not wanted, so that the names do not depend on `recordTypes`.
            let name = names.typeName(for: type.name)
            guard type.name != ContainerSchema.userType, recordTypes?.contains(type.name) ?? true,
                type.fields.contains(where: { ContainerSchema.problem(ofName: $0.name) == nil })
            else { continue }
            files.append(File(name: "\(name).swift", recordType: type.name, source: Self.source(of: type, name: name)))
        }
        self.files = files
    }

    private static func source(of type: ContainerSchema.RecordType, name: String) -> String {
        let fields = type.fields.filter { ContainerSchema.problem(ofName: $0.name) == nil }
        let needsFoundation = fields.contains { ["Date", "Data"].contains($0.type.element.swiftType) }
        var names = SwiftNames(reserved: SwiftNames.reservedProperties)
        let properties = fields.map { field in
            let property = names.propertyName(for: field.name)
            let attribute = attribute(of: field, property: property)
            let type = field.type.element.swiftType
            let declaration = field.type.isList ? "\(property): [\(type)] = []" : "\(property): \(type)?"
            return "    \(attribute.map { "\($0) " } ?? "")var \(declaration)\n"
        }
        return """
            \(needsFoundation ? "import Foundation\n" : "")import MistModels

            /// A record of the type `\(type.name)`.
            @CloudKitRecord\(name == type.name ? "" : "(\"\(type.name)\")")
            struct \(name): Hashable {
            \(properties.joined())}

            """
    }

    /// The attribute `@CloudKitField` with the parts that differ from the defaults; `nil` where none differs.
    private static func attribute(of field: ContainerSchema.Field, property: String) -> String? {
        var arguments: [String] = []
        if property.filter({ $0 != "`" }) != field.name { arguments.append("\"\(field.name)\"") }
        if field.type.isEncrypted { arguments.append(".encrypted") }
        arguments += field.indexes.names.map { ".\($0.lowercased())" }
        return arguments.isEmpty ? nil : "@CloudKitField(\(arguments.joined(separator: ", ")))"
    }
}

extension SchemaFieldType.Element {
    /// A `NUMBER` without a preference becomes a floating-point number, which holds whole numbers as well.
    fileprivate var swiftType: String { (valueType ?? .double).swiftName }
}

/// Makes Swift names from names of a schema. Each Swift name is used once.
private struct SwiftNames {
    /// Names that are used already or not allowed.
    private var taken: Set<String>

    init(reserved: Set<String>) {
        taken = reserved
    }

    /// `CD_Entity` becomes `CDEntity`, `feed_item` becomes `FeedItem`.
    mutating func typeName(for name: String) -> String {
        let words = Self.words(of: name).map { $0.prefix(1).uppercased() + $0.dropFirst() }
        return unused(words.joined(), suffix: "Record")
    }

    /// `body_text` becomes `bodyText`, `URL` becomes `url`, `URLString` becomes `urlString`.
    mutating func propertyName(for name: String) -> String {
        let words = Self.words(of: name)
        let rest = words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }
        let property = unused(Self.lowercasedStart(of: words.first ?? name) + rest.joined(), suffix: "Value")
        return Self.keywords.contains(property) ? "`\(property)`" : property
    }

    private mutating func unused(_ name: String, suffix: String) -> String {
        var candidate = name
        var number = 1
        while !taken.insert(candidate).inserted {
            candidate = number == 1 ? name + suffix : "\(name)\(suffix)\(number)"
            number += 1
        }
        return candidate
    }

    private static func words(of name: String) -> [String] { name.split(separator: "_").map(String.init) }

    /// The word with the capitals at its beginning in lower case, except for the capital that begins the next word.
    private static func lowercasedStart(of word: String) -> String {
        let capitals = word.prefix(while: \.isUppercase)
        guard !capitals.isEmpty else { return word }
        let rest = word.dropFirst(capitals.count)
        let beginsWord = capitals.count > 1 && rest.first?.isLowercase == true
        let count = beginsWord ? capitals.count - 1 : capitals.count
        return word.prefix(count).lowercased() + word.dropFirst(count)
    }

    /// Types that the generated source uses, and names that a type cannot have.
    static let reservedTypes: Set<String> = [
        "Any", "Array", "Asset", "Bool", "Data", "Date", "Double", "Fields", "Hashable", "Int", "Location",
        "Optional", "Protocol", "Reference", "Self", "String", "Type",
    ]

    /// Names of properties of a stored record, which would hide those of the struct, and names that a property cannot
    /// have.
    static let reservedProperties: Set<String> = [
        "changedFields", "created", "hasChanges", "hash", "hashValue", "init", "model", "modified", "original",
        "otherFields", "parent", "record", "recordChangeTag", "recordName", "self", "share", "shortGUID", "zoneID",
    ]

    /// The words that can name a property only within backticks.
    private static let keywords: Set<String> = [
        "as", "associatedtype", "break", "case", "catch", "class", "continue", "default", "defer", "deinit", "do",
        "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if", "import",
        "in", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private", "protocol",
        "public", "repeat", "rethrows", "return", "static", "struct", "subscript", "super", "switch", "throw",
        "throws", "true", "try", "typealias", "var", "where", "while",
    ]
}
