import Spelling

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
/// The stages are folders of this module, and a document passes each of them once: *Parsing* turns bytes into a tree,
/// *Linking* brings everything that references lead to into it, *Reading* turns it into the terms of OpenAPI,
/// *Resolution* follows references and chooses names, *Translation* makes Swift declarations, *Rendering* makes text.
/// No stage uses a later one. The generator neither reads nor writes files, and gives the same output for the same
/// input.
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
