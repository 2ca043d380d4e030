/// Pieces of code that many declarations share.
enum Snippets {
    /// The protocols that every generated value type conforms to.
    static let valueConformances: [SwiftType] = [.streamingJSON("JSONCodable"), .swift("Sendable")]

    /// The methods that HTTPTypes has names for.
    private static let namedMethods: Set<String> = [
        "GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE", "CONNECT", "QUERY",
    ]

    static func isNamedMethod(_ method: String) -> Bool {
        namedMethods.contains(method)
    }

    /// An expression for the method of a request. It throws for a text that is not a method.
    static func method(_ method: String) -> String {
        isNamedMethod(method)
            ? ".\(method.lowercased())" : "OpenAPISwiftRuntime.requestMethod(\(stringLiteral(method)))"
    }

    /// The name of the generic type behind the alias `CodingKeys` of every type.
    private static let propertyKey = "PropertyKey"

    /// The type behind the alias `CodingKeys` of a type.
    static func propertyKey(of owner: SwiftType) -> SwiftType { .runtime(propertyKey, owner) }

    /// The keys of a type. They are members of a generic type, in an extension. Swift allows extensions only outside of
    /// other declarations.
    static func keys(_ keys: [(name: String, key: String)], of type: String, attributes: [String]) -> TypeDeclaration {
        TypeDeclaration(
            attributes: attributes,
            keyword: .extension,
            name: "\(SwiftType.runtime(propertyKey).text) where Owner == \(type)",
            members: keys.map { name, key in
                .property(
                    PropertyDeclaration(
                        modifiers: "static ",
                        name: escaped(name),
                        type: .ownType,
                        body: [.line("Self(\(stringLiteral(key)))")]
                    )
                )
            }
        )
    }

    /// Notes where the value begins.
    static let start = Statement.line("let start: StreamingJSON.JSONReader.Position = reader.position")

    /// Refuses to read a composition inside of itself before a byte is read.
    static func guardingRecursion(in name: String) -> [Statement] {
        [
            .line("try reader.beginRecursiveComposition(Self.self, in: \(stringLiteral(name)))"),
            .line("defer { reader.endRecursiveComposition() }"),
        ]
    }

    /// `init(json:)`.
    static func readingInitializer(body: [Statement]) -> Declaration {
        .function(
            FunctionDeclaration(
                name: "init",
                parameters: [.init(label: "json reader", type: .inout(.streamingJSON("JSONReader")))],
                effects: "throws(StreamingJSON.JSONError)",
                body: body
            )
        )
    }

    /// `write(json:)`.
    static func writingMethod(body: [Statement]) -> Declaration {
        .function(
            FunctionDeclaration(
                name: "func write",
                parameters: [.init(label: "json writer", type: .inout(.streamingJSON("JSONWriter")))],
                body: body
            )
        )
    }

    /// An expression that reads a value of a type from `reader`.
    ///
    /// The expression names the type after `as`, where the compiler looks only for types. Before `.self`, it would
    /// first find a property, a case or a method with the name of the module or the namespace.
    static func read(_ type: SwiftType) -> String {
        switch type {
        case .string: "try reader.readString()"
        case .bool: "try reader.readBool()"
        case .int, .int32, .int64: "try reader.readInteger() as \(type.text)"
        case .double: "try reader.readDouble()"
        case .date: "try reader.readDate()"
        case .alias(_, let inner) where inner.containsDate: read(inner)
        case _ where !type.containsDate && type.containsOverride:
            "try reader.readOverride() as \(type.text)"
        case .array(let element) where element.containsDate: "try reader.readArray(\(readerClosure(element)))"
        case .dictionary(let value) where value.containsDate: "try reader.readDictionary(\(readerClosure(value)))"
        case .optional(let wrapped) where wrapped.containsDate: "try reader.readOptional(\(readerClosure(wrapped)))"
        default: "try reader.read() as \(type.text)"
        }
    }

    /// A statement that reads a member of an object into a variable. `null` leaves an optional variable unchanged or
    /// sets it to `nil`.
    static func readMember(_ type: SwiftType, into variable: String) -> String {
        let label = type.isOptional ? "optional" : "required"
        let type = type.unwrapped
        switch type.scalar {
        case .string: return "reader.readString(\(label): &\(variable))"
        case .bool: return "reader.readBool(\(label): &\(variable))"
        case .int: return "reader.readInt(\(label): &\(variable))"
        case .int32: return "reader.readInt32(\(label): &\(variable))"
        case .int64: return "reader.readInt64(\(label): &\(variable))"
        case .double: return "reader.readDouble(\(label): &\(variable))"
        case .float: return "reader.readFloat(\(label): &\(variable))"
        case .date: return "reader.readDate(\(label): &\(variable))"
        default:
            let closure = type.needsClosure ? ", \(readerClosure(type))" : ""
            return "reader.readMember(\(label): &\(variable)\(closure))"
        }
    }

    /// A statement that writes a member of an object, or nothing for `nil`.
    static func writeMember(_ key: String, _ type: SwiftType, _ value: String) -> String {
        let type = type.unwrapped
        let label: String
        switch type.scalar {
        case .string: label = "string"
        case .bool: label = "bool"
        case .int: label = "int"
        case .int32: label = "int32"
        case .int64: label = "int64"
        case .double: label = "double"
        case .float: label = "float"
        case .date: label = "date"
        default: label = "value"
        }
        let closure = label == "value" && type.needsClosure ? ", \(writerClosure(type))" : ""
        return "writer.member(\(stringLiteral(key)), \(label): \(value)\(closure))"
    }

    /// A closure that reads a value of a type.
    static func readerClosure(_ type: SwiftType) -> String {
        "{ (reader: inout StreamingJSON.JSONReader) throws(StreamingJSON.JSONError) -> \(type.text) in \(read(type)) }"
    }

    /// An expression that calls a function to read a value, with a closure when the type's own conformance cannot read
    /// it.
    ///
    /// - Parameters:
    ///   - function: The function, with the message or part that it reads from.
    ///   - arguments: The arguments before the closure.
    ///   - type: The type to read.
    ///   - isOptional: Whether the function returns an optional of the type.
    /// - Returns: The expression, with its type after `as` unless a closure names the type.
    static func call(
        _ function: String,
        _ arguments: [String] = [],
        reading type: SwiftType,
        isOptional: Bool = false
    ) -> String {
        let all = arguments + (type.needsClosure ? [readerClosure(type)] : [])
        let call = "\(function)(\(all.joined(separator: ", ")))"
        return type.needsClosure ? call : "\(call) as \(type.text)\(isOptional ? "?" : "")"
    }

    /// A type as an argument of a reading function: the type itself, or a closure when its own conformance cannot read
    /// it.
    ///
    /// Use it only for code in whose scope no property, case or method has a name from the document.
    static func typeArgument(_ type: SwiftType) -> String {
        type.needsClosure ? readerClosure(type) : "\(parenthesized(type)).self"
    }

    /// A statement that writes a value to `writer`.
    static func write(_ type: SwiftType, _ value: String) -> String {
        switch type {
        case .date: "writer.writeDate(\(value))"
        case .alias(_, let inner) where inner.containsDate: write(inner, value)
        case _ where !type.containsDate && type.containsOverride: "writer.writeOverride(\(value))"
        case .array(let element) where element.containsDate: "writer.writeArray(\(value), \(writerClosure(element)))"
        case .dictionary(let inner) where inner.containsDate:
            "writer.writeDictionary(\(value), \(writerClosure(inner)))"
        case .optional(let wrapped) where wrapped.containsDate:
            "writer.writeOptional(\(value), \(writerClosure(wrapped)))"
        default: "writer.write(\(value))"
        }
    }

    /// A closure that writes a value of a type.
    static func writerClosure(_ type: SwiftType) -> String {
        "{ (value: \(type.text), writer: inout StreamingJSON.JSONWriter) -> Swift.Void in \(write(type, "value")) }"
    }

    /// The type as it must be written before `.self`.
    private static func parenthesized(_ type: SwiftType) -> String {
        if case .optional = type { return "(\(type.text))" }
        return type.text
    }
}
