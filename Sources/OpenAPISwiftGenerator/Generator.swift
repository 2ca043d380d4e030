/// What the generator is asked for.
public struct GeneratorConfiguration: Hashable, Sendable {
    /// A part of the output.
    public enum Mode: String, Hashable, Sendable, CaseIterable, Comparable {
        /// Types, `APIProtocol`, servers.
        case types
        /// `Client`.
        case client
        /// `registerHandlers(on:)`.
        case server
        /// The component schemas alone, as types of the module itself. It goes without the other parts.
        case schemas

        /// Types come before client, client before server.
        public static func < (left: Mode, right: Mode) -> Bool {
            (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
        }
    }

    /// The parts to generate.
    public var modes: Set<Mode>
    /// The access level of what is generated.
    public var accessModifier: AccessModifier = .internal
    /// Modules that the output imports beside its own.
    public var additionalImports: [String] = []
    /// Comments below the first line of each file.
    public var additionalFileComments: [String] = []
    /// How names are made.
    public var namingStrategy: NamingStrategy = .defensive
    /// Swift names for names of the document, used as they are.
    public var nameOverrides: [String: String] = [:]
    /// Swift types for component schemas.
    ///
    /// Such a type takes the place of a generated one. It must be `Codable`, `Hashable` and `Sendable`; one that is
    /// `JSONReadable` and `JSONWritable` as well is read and written by these, which is much faster.
    public var typeOverrides: [String: String] = [:]
    /// What enumerations become.
    public var enumerations: EnumerationStyle = .closed
    /// What becomes of the members of objects that their types have no property for.
    public var unknownMembers = UnknownMembersRule()
    /// Whether the server has a second protocol, `ContextualAPIProtocol`, whose methods take a value of the request.
    public var handlerContext = false
    /// Which operations have a second call in the client that leaves the body of a success to the caller.
    public var bufferedResponses: OperationSelection = .named([])
    /// Names of types for path parameters, each with the names of the parameters.
    ///
    /// An operation that has exactly these path parameters has this type for them, a member of `Components.Parameters`.
    public var pathTypes: [String: [String]] = [:]
    /// What of the document to use; `nil` for all.
    public var filter: DocumentFilter?
    /// Vendor extensions of operations that become tables of `Operations`, such as `x-cost`.
    public var operationExtensions: [String] = []
    /// Whether the operations of each tag, and the schemas that only they use, get a file of their own.
    ///
    /// The names of these files begin with ``Generator/splitFileNamePrefix`` and depend on the document, so a build
    /// plugin, which has to promise names before it reads a document, cannot have them. Private declarations are never
    /// split.
    public var splitsByTag = false

    /// Creates a configuration with the defaults of the configuration file.
    ///
    /// - Parameter modes: The parts to generate.
    public init(modes: Set<Mode> = []) {
        self.modes = modes
    }
}

/// What enumerations of the document become, and with that what happens to values that the document does not list.
public enum EnumerationStyle: String, Hashable, Sendable, CaseIterable {
    /// An `enum`; a value that is not listed is an error.
    case closed
    /// A `struct` with a static member for each value that is listed; it keeps every other value, and reads and writes
    /// it.
    case open
}

/// What a generated type does with the members of an object that it has no property for.
public enum UnknownMembersStyle: String, Hashable, Sendable, CaseIterable {
    /// It steps over them.
    case skip
    /// It keeps them, and the `null`s of optional properties, and writes them again.
    case keep
    /// It also keeps the value of an optional property that is not of the property's type. The property is `nil` then.
    case keepAll
}

/// The style of a document's object types, and of some of them.
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
    /// For use inside one file; everything then stands in the first.
    case `fileprivate`
    /// As `fileprivate`, which is also what is written inside of types.
    case `private`
}

/// A file of the output.
public struct GeneratedFile: Hashable, Sendable {
    /// The name inside the output directory.
    public var name: String
    /// The whole text.
    public var contents: String

    /// Creates a file.
    public init(name: String, contents: String) {
        self.name = name
        self.contents = contents
    }
}

/// What a run of the generator gives.
public struct GeneratorResult: Sendable {
    /// The files of the modes that were asked for; none after an error.
    public var files: [GeneratedFile]
    /// Everything there is to say about the document, errors included.
    public var diagnostics: [Diagnostic]
}

/// Turns an OpenAPI document into Swift source.
///
/// The stages are the folders of this module: *Document* reads bytes into the terms of OpenAPI, *Resolution* follows
/// references and chooses names, *Translation* makes Swift declarations, *Rendering* makes text. The generator touches
/// no file and gives the same output for the same input.
public struct Generator: Sendable {
    /// What to generate.
    public var configuration: GeneratorConfiguration

    /// Creates a generator.
    public init(configuration: GeneratorConfiguration) {
        self.configuration = configuration
    }

    /// What the names of the files of tags begin with.
    public static let splitFileNamePrefix: String = TagSplit.fileNamePrefix

    /// The first line of every file that is generated.
    public static let marker: String = Renderer.marker

    /// The names of the files of a mode. They are known before any document is read, as build plugins need it.
    public static func fileNames(for mode: GeneratorConfiguration.Mode) -> [String] {
        switch mode {
        case .types: TypesTranslator.FileNames.all
        case .client: ["Client.swift"]
        case .server: ["Server.swift"]
        case .schemas: TypesTranslator.FileNames.schemas
        }
    }

    /// Generates from a document.
    ///
    /// - Parameters:
    ///   - document: The bytes of a YAML or JSON document.
    ///   - name: What diagnostics call the document, usually its path.
    ///   - load: Gives the bytes of other documents that this one refers to. Without it such a reference is an error.
    /// - Returns: The files, or no files and at least one error among the diagnostics.
    public func generate(
        from document: [UInt8],
        named name: String,
        loadingReferencesWith load: DocumentLoader? = nil
    ) -> GeneratorResult {
        let diagnostics = Diagnostics(source: SourceText(name: name, bytes: document))
        var files: [SwiftFile] = []
        do throws(Diagnostic) {
            files = try translate(load, diagnostics: diagnostics)
        } catch {
            diagnostics.report(error)
        }
        guard !diagnostics.hasErrors else { return GeneratorResult(files: [], diagnostics: diagnostics.all) }
        let renderer = Renderer(
            access: configuration.accessModifier,
            fileComments: configuration.additionalFileComments
        )
        return GeneratorResult(
            files: zip(files, renderer.render(files)).map { GeneratedFile(name: $0.name, contents: $1) },
            diagnostics: diagnostics.all
        )
    }

    /// All stages but the last. Each ends with the errors that it could go on after, and then the next does not begin.
    private func translate(
        _ load: DocumentLoader?,
        diagnostics: Diagnostics
    ) throws(Diagnostic) -> [SwiftFile] {
        guard !configuration.modes.contains(.schemas) || configuration.modes.count == 1 else {
            throw diagnostics.error(
                "'schemas' cannot be generated together with other parts.",
                at: nil,
                remedy: "generate 'types' instead, or the schemas into a target of their own"
            )
        }
        var linker = DocumentLinker(
            root: try DocumentParser.parse(diagnostics.mainSource),
            diagnostics: diagnostics,
            load: load
        )
        var root = linker.link()
        if let filter = configuration.filter {
            root = try filter.apply(to: root, diagnostics: diagnostics)
        }
        var reader = DocumentReader(diagnostics: diagnostics)
        let document = try reader.read(root)
        guard !diagnostics.hasErrors else { return [] }

        let names = NameAssigner(strategy: configuration.namingStrategy, overrides: configuration.nameOverrides)
        let resolver = Resolver(
            names: names,
            typeOverrides: configuration.typeOverrides,
            unknownMembers: configuration.unknownMembers,
            namespace: configuration.modes.contains(.schemas) ? nil : SchemaCatalog.namespace,
            diagnostics: diagnostics
        )
        let resolved = resolver.resolve(document)
        guard !diagnostics.hasErrors else { return [] }

        let translator = Translator(
            document: resolved,
            names: names,
            configuration: configuration,
            diagnostics: diagnostics
        )
        return translator.translate()
    }
}
