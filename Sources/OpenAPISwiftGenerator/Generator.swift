import Spelling

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

/// The result of a run of the generator.
public struct GeneratorResult: Sendable {
    /// The files of the configured modes; empty after an error.
    public var files: [GeneratedFile]
    /// All diagnostics about the document: notes, warnings and errors.
    public var diagnostics: [Diagnostic]
}

/// Turns an OpenAPI document into Swift source.
///
/// The stages are the folders of this module: *Document* reads bytes into the terms of OpenAPI, *Resolution* follows
/// references and chooses names, *Translation* makes Swift declarations, *Rendering* makes text. The generator neither
/// reads nor writes files, and gives the same output for the same input.
public struct Generator: Sendable {
    /// What to generate.
    public var configuration: GeneratorConfiguration
    /// Whether keys of the document that are neither known nor extensions are reported as warnings.
    public var checksKeys = false

    /// Creates a generator.
    public init(configuration: GeneratorConfiguration) {
        self.configuration = configuration
    }

    /// The first letters of the names of the files that ``GeneratorConfiguration/splitsByTag`` adds.
    public static let splitFileNamePrefix: String = TagSplit.fileNamePrefix

    /// The first line of every file that is generated.
    public static let marker: String = Renderer.marker

    /// The names of the files of a mode.
    ///
    /// They do not depend on the document, because build plugins need them in advance.
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
    ///   - name: The name of the document in diagnostics, usually its path; ``DocumentLoader`` begins with its folder.
    ///   - load: Gives the bytes of other documents that this one refers to. Without it, a reference to another
    ///     document is an error.
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

    /// Runs all stages except rendering.
    ///
    /// A stage can report several errors; the next stage begins only if there are none.
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
        if let problem = configuration.firstProblem(modes: configuration.modes) { throw problem }
        let main = try DocumentParser.parse(diagnostics.mainSource)
        if checksKeys { KeyChecker(diagnostics: diagnostics).check(main) }
        var linker = DocumentLinker(root: main, diagnostics: diagnostics, load: load)
        var root = linker.link()
        warnOfUnusedNames(in: root, diagnostics: diagnostics)
        if let filter = configuration.filter {
            root = try filter.apply(to: root)
        }
        var reader = DocumentReader(diagnostics: diagnostics)
        let document = try reader.read(root)
        guard !diagnostics.hasErrors else { return [] }

        let names = NameAssigner(strategy: configuration.namingStrategy, overrides: configuration.nameOverrides)
        let resolver = Resolver(
            names: names,
            typeOverrides: configuration.typeOverrides,
            unknownMembers: configuration.unknownMembers,
            locations: configuration.locations,
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

    /// Warns of name overrides for names that the document does not have.
    private func warnOfUnusedNames(in root: DocumentNode, diagnostics: Diagnostics) {
        guard !configuration.nameOverrides.isEmpty else { return }
        var names = DocumentNames()
        names.collect(from: root)
        for name in configuration.nameOverrides.keys.sorted() where !names.contains(name) {
            diagnostics.warn(
                "The name override for '\(name)' has no effect: the document has no such name.",
                at: configuration.locations["nameOverrides", name],
                remedy: NearestName.question(about: name, among: names.all)
            )
        }
    }
}

/// The texts of a document that can become names in the output: keys, and values of keys such as `operationId`.
private struct DocumentNames {
    private var names: Set<String> = [
        // Names that the output has without a name in the document.
        "additionalProperties", "unknownMembers", "accept", "json", "body",
    ]

    var all: [String] { names.sorted() }

    func contains(_ name: String) -> Bool {
        names.contains(name) || name.lowercased().wholeMatch(of: /(case|value)[0-9]+(payload)?/) != nil
    }

    private static let keys: Set<String> = ["name", "operationId", "default", "const"]

    mutating func collect(from node: DocumentNode) {
        switch node.content {
        case .object(let members):
            for member in members {
                names.insert(member.key)
                if DocumentNames.keys.contains(member.key), let text = member.value.scalarText { names.insert(text) }
                if member.key == "enum" || member.key == "x-extensible-enum" {
                    names.formUnion((member.value.elements ?? []).compactMap(\.scalarText))
                }
                if member.key == "mapping" { names.formUnion((member.value.members ?? []).map(\.key)) }
                if member.key == "paths" {
                    // An operation without an identifier is named by its method and path.
                    for path in member.value.members ?? [] {
                        let others = path.value["additionalOperations"]?.members?.map(\.key) ?? []
                        for method in DocumentReader.operationKeys + others {
                            names.insert("\(method.lowercased())\(path.key)")
                        }
                    }
                }
                collect(from: member.value)
            }
        case .array(let elements):
            for element in elements { collect(from: element) }
        case .null, .bool, .integer, .number, .string: break
        }
    }
}
