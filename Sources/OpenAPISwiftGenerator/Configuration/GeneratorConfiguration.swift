/// The settings of a ``Generator``.
public struct GeneratorConfiguration: Hashable, Sendable {
    /// A part of the output.
    public enum Mode: String, Hashable, Sendable, CaseIterable, Comparable {
        /// Types, `APIProtocol`, servers.
        case types
        /// `Client`.
        case client
        /// `registerHandlers(on:)`.
        case server
        /// The component schemas alone, as types of the module itself. It cannot be combined with the other parts.
        case schemas

        /// Orders the parts: types, client, server, schemas.
        public static func < (left: Mode, right: Mode) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    /// The parts to generate.
    public var modes: Set<Mode>
    /// The access level of the generated declarations.
    public var accessModifier: AccessModifier = .internal
    /// Modules that the output imports in addition to those that it needs itself.
    public var additionalImports: [String] = []
    /// Comments below the first line of each file.
    public var additionalFileComments: [String] = []
    /// How names of the document become Swift identifiers.
    public var namingStrategy: NamingStrategy = .defensive
    /// Swift names for names of the document, used as they are.
    public var nameOverrides: [String: String] = [:]
    /// Swift types for component schemas.
    ///
    /// The output uses such a type instead of a generated one. The type must be `Codable`, `Hashable` and `Sendable`.
    /// If it is also `JSONReadable` and `JSONWritable`, generated code reads and writes it with these, which is much
    /// faster.
    public var typeOverrides: [String: String] = [:]
    /// What enumerations become.
    public var enumerations: EnumerationStyle = .closed
    /// What generated types do with members of an object for which they have no property.
    public var unknownMembers = UnknownMembersRule()
    /// Whether the server has a second protocol, `ContextualAPIProtocol`, whose methods take a value of the request.
    public var handlerContext = false
    /// The operations for which the client has a second method, which leaves reading the body of a success to the
    /// caller.
    public var bufferedResponses: OperationSelection = .named([])
    /// Names of types for path parameters, each with the names of its parameters.
    ///
    /// An operation with exactly these path parameters uses the type for them. The type is a member of
    /// `Components.Parameters`.
    public var pathTypes: [String: [String]] = [:]
    /// Which parts of the document to use; `nil` for all.
    public var filter: DocumentFilter?
    /// Vendor extensions of operations that become tables of `Operations`, such as `x-cost`.
    public var operationExtensions: [String] = []
    /// Folders that references may lead into, besides the folder of the document or the package.
    ///
    /// The generator itself reads no files; a ``DocumentLoader`` obeys this setting.
    public var referenceFolders: [String] = []
    /// Where the values come from, for diagnostics.
    var locations = SettingLocations()
    /// Whether the operations of each tag, and the schemas that only they use, get a file of their own.
    ///
    /// The names of these files begin with ``Generator/splitFileNamePrefix`` and depend on the document. A build plugin
    /// has to announce the names before it reads a document, so it cannot use this setting. Private declarations are
    /// never split.
    public var splitsByTag = false

    /// Creates a configuration with the defaults of the configuration file.
    ///
    /// - Parameter modes: The parts to generate.
    public init(modes: Set<Mode> = []) {
        self.modes = modes
    }
}

/// What enumerations of the document become. This decides what happens to values that the document does not list.
public enum EnumerationStyle: String, Hashable, Sendable, CaseIterable {
    /// An `enum`; a value that is not listed is an error.
    case closed
    /// A `struct` with a static member for each value that is listed. It also reads, keeps and writes other values.
    case open
}

/// What a generated type does with members of an object for which it has no property.
public enum UnknownMembersStyle: String, Hashable, Sendable, CaseIterable {
    /// It skips them.
    case skip
    /// It keeps them, and the `null`s of optional properties, and writes them again.
    case keep
    /// Like ``keep``. It also keeps the value of an optional property when the value does not have the property's type.
    /// The property is `nil` then.
    case keepAll
}

/// Which object types of a document have which ``UnknownMembersStyle``.
public struct UnknownMembersRule: Hashable, Sendable {
    /// The style of all object types that ``schemas`` does not name.
    public var `default`: UnknownMembersStyle
    /// The styles of component schemas, and of the types that are declared inside of them.
    public var schemas: [String: UnknownMembersStyle]

    /// Creates a rule.
    public init(_ default: UnknownMembersStyle = .skip, schemas: [String: UnknownMembersStyle] = [:]) {
        self.default = `default`
        self.schemas = schemas
    }
}

/// Some operations of a document.
public enum OperationSelection: Hashable, Sendable {
    /// Every operation.
    case all
    /// Operations by their names in the document.
    case named([String])
}

/// The access level of the declarations that are generated.
public enum AccessModifier: String, Hashable, Sendable, CaseIterable {
    /// For use by other packages.
    case `public`
    /// For use inside the package.
    case package
    /// For use inside the module.
    case `internal`
    /// For use inside one file. The first file then holds all declarations.
    case `fileprivate`
    /// Like `fileprivate`: declarations outside of types are `private`, those inside of types are `fileprivate`.
    case `private`
}
