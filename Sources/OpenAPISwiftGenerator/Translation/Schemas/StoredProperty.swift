/// A property of a generated struct.
struct StoredProperty {
    var key: String
    var name: String
    var type: SwiftType
    /// Held in a box because the type contains the struct again.
    var isBoxed: Bool
    /// Whether it is stored under a private name, behind a computed property. This is so for boxes, and for
    /// deprecated properties, because the struct's own code must not cause warnings.
    var hasPrivateStorage: Bool { isBoxed || isDeprecated }
    var documentation: String?
    var isDeprecated: Bool
    /// What the property for unknown members keeps; `nil` for other properties.
    var keeps: UnknownMembersStyle?

    /// The property, and the one behind it.
    var declarations: [Declaration] {
        guard hasPrivateStorage else {
            return [
                .property(
                    PropertyDeclaration(
                        documentation: documentation,
                        name: escaped(name),
                        type: type
                    )
                )
            ]
        }
        let storage = storageName
        let box: SwiftType = .runtime("IndirectValue", type.unwrapped)
        let boxType: SwiftType = type.isOptional ? .optional(box) : box
        return [
            .property(
                PropertyDeclaration(
                    access: .private,
                    name: storage,
                    type: isBoxed ? boxType : type
                )
            ),
            .property(
                PropertyDeclaration(
                    documentation: documentation,
                    attributes: isDeprecated ? ["@available(*, deprecated)"] : [],
                    name: escaped(name),
                    type: type,
                    accessors: [
                        .block("get", [.line(access)]),
                        .block("set", [.line("self.\(storage) = \(stored("newValue"))")]),
                    ]
                )
            ),
        ]
    }

    /// The name under which it is stored.
    var storageName: String {
        hasPrivateStorage ? "__\(name)" : escaped(name)
    }

    /// An expression that puts a value into a box if the property is stored in one.
    func stored(_ value: String) -> String {
        guard isBoxed else { return value }
        return type.isOptional ? "\(value).map { .init($0) }" : ".init(\(value))"
    }

    /// An expression with which code inside the type reads a property.
    var access: String {
        guard isBoxed else { return "self.\(storageName)" }
        return "self.\(storageName)\(type.isOptional ? "?" : "").value"
    }

    /// The initialiser of a type with a parameter for each of its properties; `additional` is the last, which callers may
    /// leave out.
    static func initializer(
        of name: String,
        _ fields: [StoredProperty],
        additional: StoredProperty? = nil
    ) -> Declaration {
        var parameters: [FunctionDeclaration.Parameter] = []
        var body: [Statement] = []
        for field in fields + (additional.map { [$0] } ?? []) {
            let isAdditional: Bool = field.key.isEmpty && field.name == additional?.name
            parameters.append(
                .init(
                    label: escaped(field.name),
                    type: field.type,
                    defaultValue: isAdditional ? ".init()" : field.type.isOptional ? "nil" : nil
                )
            )
            body.append(.line("self.\(field.storageName) = \(field.stored(escaped(field.name)))"))
        }
        return .function(
            FunctionDeclaration(
                documentation: "Creates a `\(name)`.",
                name: "init",
                parameters: parameters,
                body: body
            )
        )
    }
}
