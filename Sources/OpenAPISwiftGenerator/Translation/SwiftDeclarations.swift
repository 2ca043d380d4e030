/// A file of the output, as declarations.
struct SwiftFile: Sendable {
    var name: String
    var imports: [SwiftImport]
    var declarations: [Declaration]
}

/// One import line.
struct SwiftImport: Hashable, Sendable {
    /// The module. For Foundation, FoundationEssentials is imported where it exists, unless ``isWhole`` is set.
    var module: String
    var isSPI: Bool = false
    /// Whether files that import the output's module can use this module, too. Such files use members of the runtime's
    /// types, such as `body.json`, without importing the runtime.
    var isReexported: Bool = false
    /// Whether all of Foundation is imported, because the configuration lists it.
    var isWhole: Bool = false
    /// Whether declarations of the output mention the module, so that it is imported at their access level. `nil` to
    /// find out.
    var isExposed: Bool?
}

extension SwiftFile {
    /// Whether a declaration that other files can see mentions a module.
    ///
    /// Where none does, an import with an access level is a warning. The compiler counts conformances of public types
    /// only.
    func exposes(_ module: String, at access: AccessModifier) -> Bool {
        declarations.contains { $0.exposes(module, countsConformances: access == .public) }
    }
}

/// A value that a case of an enumeration carries.
struct AssociatedValue: Sendable {
    var label: String?
    var type: SwiftType

    init(_ type: SwiftType, label: String? = nil) {
        self.label = label
        self.type = type
    }

    /// As it is written between the parentheses of the case.
    var text: String { "\(label.map { "\($0): " } ?? "")\(type.text)" }
}

/// A declaration. The access level is the same for all and is added in rendering.
indirect enum Declaration: Sendable {
    case type(TypeDeclaration)
    /// `conformancesOf` is a module that declares the conformances of a target from another module. This module counts
    /// as exposed although nothing mentions it.
    case alias(
        documentation: String?,
        attributes: [String] = [],
        name: String,
        target: SwiftType,
        conformancesOf: String? = nil
    )
    case property(PropertyDeclaration)
    case function(FunctionDeclaration)
    case enumCase(documentation: String?, name: String, values: [AssociatedValue] = [], rawValue: String? = nil)
    /// The keys of the type that contains this declaration: an alias inside of the type, and an extension behind the
    /// type with the keys as members.
    case codingKeys([(name: String, key: String)])
    /// Source text as it is, line by line.
    case text([String])
}

extension Declaration {
    fileprivate func exposes(_ module: String, countsConformances: Bool) -> Bool {
        func uses(_ type: SwiftType) -> Bool { type.names(module) }
        switch self {
        case .type(let type):
            let inherits = countsConformances && type.inherits.contains(where: uses)
            return inherits || type.members.contains { $0.exposes(module, countsConformances: countsConformances) }
        case .alias(_, _, _, let target, let conformances):
            return uses(target) || (countsConformances && conformances == module)
        case .property(let property): return property.access == .standard && uses(property.type)
        case .function(let function):
            guard function.access == .standard else { return false }
            return function.parameters.contains { uses($0.type) } || function.result.map(uses) == true
        case .enumCase(_, _, let values, _): return values.contains { uses($0.type) }
        case .codingKeys: return uses(Snippets.propertyKey(of: .ownType))
        case .text: return false
        }
    }
}

extension Declaration {
    /// The size of the declaration: about its number of lines without comments.
    var weight: Int {
        switch self {
        case .type(let type): type.members.reduce(2) { $0 + $1.weight }
        case .alias, .enumCase: 1
        case .codingKeys(let keys): 3 + keys.count
        case .property(let property): 1 + Statement.weight(property.body) + Statement.weight(property.accessors)
        case .function(let function): 2 + function.parameters.count + Statement.weight(function.body)
        case .text(let lines): lines.count
        }
    }
}

extension Statement {
    fileprivate static func weight(_ statements: [Statement]?) -> Int {
        (statements ?? []).reduce(0) { $0 + $1.weight }
    }

    private var weight: Int {
        switch self {
        case .line: 1
        case .block(_, let inner, _): 2 + Statement.weight(inner)
        case .label(_, let inner): 1 + Statement.weight(inner)
        }
    }
}

struct TypeDeclaration: Sendable {
    enum Keyword: String, Sendable {
        case structure = "struct"
        case enumeration = "enum"
        case indirectEnumeration = "indirect enum"
        case `extension` = "extension"
        case `protocol` = "protocol"
    }

    var documentation: String?
    var attributes: [String] = []
    var keyword: Keyword
    var name: String
    var inherits: [SwiftType] = []
    var members: [Declaration] = []
}

extension SwiftFile {
    /// The file with extensions for declarations that cannot be inside of others.
    var withExtensions: SwiftFile {
        var result = self
        result.declarations = declarations.flatMap { (declaration: Declaration) -> [Declaration] in
            if case .type(let type) = declaration { type.withExtensions } else { [declaration] }
        }
        return result
    }
}

extension TypeDeclaration {
    /// How deep types may be nested. With each level, the compiler takes twice as long for the names of the members.
    private static let deepest = 8

    /// The declaration without types that are nested too deep, extensions with these types, and extensions with the
    /// keys of types.
    fileprivate var withExtensions: [Declaration] {
        var extensions: [Declaration] = []
        let type = moving(into: &extensions, path: name, attributes: [], depth: 0)
        return [.type(type)] + extensions
    }

    // `outer` are the attributes of the outer types: a declaration that names a deprecated type, or is inside of one,
    // must be deprecated, too.
    private func moving(
        into extensions: inout [Declaration],
        path: String,
        attributes outer: [String],
        depth: Int
    ) -> TypeDeclaration {
        let attributes = self.attributes.isEmpty ? outer : self.attributes
        var result = self
        result.members = []
        var moved: [Declaration] = []
        for member in members {
            switch member {
            case .type(let inner) where depth < Self.deepest:
                let path = "\(path).\(inner.name)"
                let type =
                    inner.moving(into: &extensions, path: path, attributes: attributes, depth: depth + 1)
                result.members.append(.type(type))
            case .type:
                moved.append(member)
            case .codingKeys(let keys):
                result.members.append(member)
                extensions.append(.type(Snippets.keys(keys, of: path, attributes: attributes)))
            default:
                result.members.append(member)
            }
        }
        if !moved.isEmpty {
            extensions +=
                TypeDeclaration(attributes: attributes, keyword: .extension, name: path, members: moved).withExtensions
        }
        return result
    }
}

struct PropertyDeclaration: Sendable {
    /// Modifiers before and after the access level: `static`, `private`.
    enum Access: Sendable {
        case standard
        case `private`
    }

    var documentation: String?
    var attributes: [String] = []
    var access: Access = .standard
    var modifiers: String = ""
    var isConstant: Bool = false
    var name: String
    var type: SwiftType
    var initialValue: String?
    /// The getter's effects, `throws` for instance; used with a body.
    var effects: String = ""
    /// For a computed property.
    var body: [Statement]?
    /// For a computed property that can be set.
    var accessors: [Statement]?
}

struct FunctionDeclaration: Sendable {
    enum Access: String, Sendable {
        case standard
        case none = ""
        case `fileprivate` = "fileprivate "
        case `private` = "private "
    }

    struct Parameter: Sendable {
        /// `label name` as written.
        var label: String
        var type: SwiftType
        var defaultValue: String?
    }

    var documentation: String?
    var attributes: [String] = []
    var access: Access = .standard
    var modifiers: String = ""
    /// `func name` or `init`.
    var name: String
    var parameters: [Parameter] = []
    var effects: String = ""
    var result: SwiftType?
    /// `nil` for a requirement of a protocol.
    var body: [Statement]?
}

/// A line of code, or a block with lines of its own.
indirect enum Statement: Sendable {
    case line(String)
    /// `header {`, the inner lines, `}` and what follows on its line.
    case block(String, [Statement], trailer: String = "")
    /// `case x:` with its lines, inside a switch.
    case label(String, [Statement])
}
