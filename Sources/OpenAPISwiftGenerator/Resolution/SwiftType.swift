/// A type as it is written in the output.
indirect enum SwiftType: Hashable, Sendable {
    case string
    case bool
    case int
    case int32
    case int64
    case double
    case float
    /// A date. It has its own functions for reading and writing, because the configuration's transcoder converts it.
    case date
    case base64
    /// Any JSON value.
    case value
    case valueObject
    case valueArray
    /// A stream of bytes, which is not a JSON value.
    case body
    /// A type of a module that generated code imports, with its generic arguments.
    case library(Module, String, [SwiftType])
    /// A type of the output, by its full name; or a type that the name means at its place, such as `Self`.
    case named(String)
    /// A type of the user that replaces a generated one, by its generated name. It may be `Codable` only.
    case overridden(String)
    /// A generated alias that readers must look through.
    case alias(String, SwiftType)
    case array(SwiftType)
    case dictionary(SwiftType)
    case optional(SwiftType)
    /// A type with a word before it.
    case modified(Modifier, SwiftType)
    /// A type that is declared inside of a generic one.
    case member(SwiftType, String)

    /// The modules that generated code imports.
    enum Module: String, Sendable {
        case swift = "Swift"
        case streamingJSON = "StreamingJSON"
        case runtime = "OpenAPISwiftRuntime"
        case httpTypes = "HTTPTypes"
    }

    /// The words that the types of properties and parameters can begin with.
    enum Modifier: String, Sendable {
        case any
        case `inout`
        case escaping = "@escaping"
    }

    static func swift(_ name: String) -> SwiftType { .library(.swift, name, []) }
    static func streamingJSON(_ name: String) -> SwiftType { .library(.streamingJSON, name, []) }
    static func runtime(_ name: String, _ arguments: SwiftType...) -> SwiftType { .library(.runtime, name, arguments) }
    static func any(_ type: SwiftType) -> SwiftType { .modified(.any, type) }
    static func `inout`(_ type: SwiftType) -> SwiftType { .modified(.inout, type) }

    /// The type that contains the declaration.
    static let ownType: SwiftType = .named("Self")
    /// Foundation's `URL`, which files import from Foundation or FoundationEssentials.
    static let url: SwiftType = .named("URL")

    /// The type as source text.
    var text: String {
        switch self {
        case .string: "Swift.String"
        case .bool: "Swift.Bool"
        case .int: "Swift.Int"
        case .int32: "Swift.Int32"
        case .int64: "Swift.Int64"
        case .double: "Swift.Double"
        case .float: "Swift.Float"
        case .date: "OpenAPISwiftRuntime.OpenAPIDate"
        case .base64: "OpenAPISwiftRuntime.Base64EncodedData"
        case .value: "OpenAPISwiftRuntime.OpenAPIValueContainer"
        case .valueObject: "OpenAPISwiftRuntime.OpenAPIObjectContainer"
        case .valueArray: "OpenAPISwiftRuntime.OpenAPIArrayContainer"
        case .body: "OpenAPISwiftRuntime.HTTPBody"
        case .library(let module, let name, let arguments):
            arguments.isEmpty
                ? "\(module.rawValue).\(name)"
                : "\(module.rawValue).\(name)<\(arguments.map(\.text).joined(separator: ", "))>"
        case .named(let name), .overridden(let name), .alias(let name, _): name
        case .array(let element): "[\(element.text)]"
        case .dictionary(let value): "[Swift.String: \(value.text)]"
        case .optional(let wrapped): "\(wrapped.text)?"
        case .modified(let modifier, let type): "\(modifier.rawValue) \(type.text)"
        case .member(let outer, let name): "\(outer.text).\(name)"
        }
    }

    /// Whether the type, as it is written, names a module.
    func names(_ module: String) -> Bool {
        switch self {
        case .string, .bool, .int, .int32, .int64, .double, .float: module == Module.swift.rawValue
        case .date, .base64, .value, .valueObject, .valueArray, .body: module == Module.runtime.rawValue
        case .library(let own, _, let arguments):
            module == own.rawValue || arguments.contains { $0.names(module) }
        // An alias is written by its name.
        case .named, .alias: false
        case .overridden(let type): SwiftSpelling.isModule(module, namedIn: type)
        case .dictionary(let value): module == Module.swift.rawValue || value.names(module)
        case .array(let type), .optional(let type), .modified(_, let type), .member(let type, _): type.names(module)
        }
    }

    /// The optional of this type, or this type if it is optional already.
    var asOptional: SwiftType {
        if case .optional = self { return self }
        return .optional(self)
    }

    /// The type without its outermost optional.
    var unwrapped: SwiftType {
        if case .optional(let wrapped) = self { return wrapped }
        return self
    }

    var isOptional: Bool {
        if case .optional = self { return true }
        return false
    }

    /// Whether the reader and the writer have functions for members of this type.
    var isMemberScalar: Bool {
        switch self {
        case .string, .bool, .int, .int32, .int64, .double, .float, .date: true
        default: false
        }
    }

    /// The type behind aliases.
    var scalar: SwiftType {
        if case .alias(_, let inner) = self { return inner.scalar }
        return self
    }

    /// Whether reading and writing need more than the type's own conformances.
    var needsClosure: Bool { containsDate || containsOverride }

    /// Whether the type contains a type of the user.
    var containsOverride: Bool {
        switch self {
        case .overridden: true
        case .array(let inner), .dictionary(let inner), .optional(let inner), .alias(_, let inner):
            inner.containsOverride
        default: false
        }
    }

    /// Whether the type contains a date, so that its own conformance cannot read and write it.
    var containsDate: Bool {
        switch self {
        case .date: true
        case .array(let inner), .dictionary(let inner), .optional(let inner), .alias(_, let inner): inner.containsDate
        default: false
        }
    }

    /// Whether it is a stream of bytes, or contains one.
    var isStream: Bool {
        switch self {
        case .body: true
        case .alias(_, let inner), .array(let inner): inner.isStream
        default: false
        }
    }
}
