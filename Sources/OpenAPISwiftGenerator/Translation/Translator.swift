import Spelling

/// Translates a resolved document into the files of the output, as declarations.
struct Translator {
    let document: ResolvedDocument
    let names: NameAssigner
    let configuration: GeneratorConfiguration
    let diagnostics: Diagnostics

    func translate() -> [SwiftFile] {
        let types = SchemaTranslator(
            schemas: document.schemas,
            names: names,
            enumerations: configuration.enumerations,
            namespace: configuration.modes.contains(.schemas) ? "" : SchemaCatalog.namespace,
            unknownMembers: configuration.unknownMembers.default,
            diagnostics: diagnostics
        )
        if configuration.modes.contains(.schemas) {
            let schemas = types.translateComponents(except: [])
            let files = TypesTranslator.files(
                TypesTranslator.FileNames.schemas,
                extending: nil,
                schemas,
                imports: imports(for: .schemas)
            )
            return isInOneFile ? merged(files.map(\.withExtensions)) : files.map(\.withExtensions)
        }
        let multipartSchemas = document.multipartSchemas
        var schemas = types.translateComponents(except: multipartSchemas)
        var operationTranslator = OperationTranslator(
            document: document,
            names: names,
            types: types,
            multipartSchemas: multipartSchemas,
            pathTypes: configuration.pathTypes
        )
        operationTranslator.translateComponents()
        schemas += operationTranslator.components.schemas
        var operations: [TranslatedOperation] = []
        for operation in document.operations {
            operations.append(operationTranslator.translate(operation))
        }
        operationTranslator.pathTypes.checkUse()
        operationTranslator.components.parameters += operationTranslator.pathTypes.declarations
        let extensions = OperationExtensions(
            operations: document.operations,
            names: names,
            locations: configuration.locations,
            diagnostics: diagnostics
        )
        let extensionTables = extensions.tables(for: configuration.operationExtensions)
        checkBufferedResponses(of: operations)

        var files: [SwiftFile] = []
        for mode in configuration.modes.sorted() {
            switch mode {
            case .types:
                let translator = TypesTranslator(
                    document: document,
                    names: names,
                    components: operationTranslator.components,
                    schemas: schemas,
                    operations: operations,
                    extensionTables: extensionTables,
                    sharedImports: imports(
                        for: .shared(usesAcceptHeaders: operations.contains(where: \.hasOnlyAccept))
                    ),
                    schemaImports: imports(for: .schemas),
                    imports: imports(for: .declarations)
                )
                let split = TagSplit(document: document, names: names, operations: operations)
                let types = configuration.splitsByTag ? split.split(translator.files) : translator.files
                files += types.map(\.withExtensions)
            case .client:
                let translator = ClientTranslator(
                    components: operationTranslator.components,
                    operations: operations,
                    multipart: multipart(of: operations, for: .client),
                    imports: imports(for: .client),
                    bufferedResponses: configuration.bufferedResponses
                )
                files.append(translator.file)
            case .server:
                let translator = ServerTranslator(
                    components: operationTranslator.components,
                    operations: operations,
                    multipart: multipart(of: operations, for: .server),
                    imports: imports(for: .server),
                    hasHandlerContext: configuration.handlerContext
                )
                files.append(translator.file)
            case .schemas: break
            }
        }
        return isInOneFile ? merged(files) : files
    }

    /// Reports names of the configuration that do not fit an operation.
    ///
    /// Without a report, such a mistake would only show as a program that does not compile.
    private func checkBufferedResponses(of operations: [TranslatedOperation]) {
        guard case .named(let names) = configuration.bufferedResponses, configuration.modes.contains(.client) else {
            return
        }
        for name in names {
            let operation = operations.first { $0.operation.documentName == name }
            let problem: String
            switch operation {
            case nil: problem = "which the document does not have"
            case let operation? where !operation.isBufferable:
                problem = "which has no success with JSON as its only content"
            case _?: continue
            }
            var error = diagnostics.error(
                "'bufferedResponses' names the operation '\(name)', \(problem).",
                at: operation?.operation.position
            )
            if operation == nil {
                error.location = configuration.locations["bufferedResponses", name]
                error.remedy = NearestName.question(about: name, among: operations.map(\.operation.documentName))
            }
            diagnostics.report(error)
        }
    }

    /// Whether all declarations must be in one file, because they are private.
    private var isInOneFile: Bool {
        switch configuration.accessModifier {
        case .public, .package, .internal: false
        case .fileprivate, .private: true
        }
    }

    /// The files with all declarations in the first, and the others empty. The files of tags, whose names depend on the
    /// document, are left out.
    private func merged(_ files: [SwiftFile]) -> [SwiftFile] {
        var result = files.filter { !$0.name.hasPrefix(TagSplit.fileNamePrefix) }
            .map { SwiftFile(name: $0.name, imports: [], declarations: []) }
        guard !result.isEmpty else { return [] }
        for item in files.flatMap(\.imports) {
            if let index = result[0].imports.firstIndex(where: { $0.module == item.module }) {
                if item.isReexported { result[0].imports[index].isReexported = true }
                if item.isWhole { result[0].imports[index].isWhole = true }
            } else {
                result[0].imports.append(item)
            }
        }
        result[0].declarations = files.flatMap(\.declarations)
        return result
    }

    /// The extensions with which the file of a mode writes and reads multipart bodies.
    ///
    /// A client writes the bodies of requests and a server reads them. If both are in one file, the extensions are
    /// generated once, with the first mode.
    private func multipart(
        of operations: [TranslatedOperation],
        for mode: GeneratorConfiguration.Mode
    ) -> [Declaration] {
        let modes =
            isInOneFile ? configuration.modes.subtracting([.types]) : [mode]
        guard mode == modes.min() else { return [] }
        let requests = operations.compactMap(\.body)
        let responses = operations.flatMap(\.responses).compactMap(\.body)
        return TranslatedMultipart.extensions(
            writing: (modes.contains(.client) ? requests : []) + (modes.contains(.server) ? responses : []),
            reading: (modes.contains(.client) ? responses : []) + (modes.contains(.server) ? requests : [])
        )
    }

    private func imports(for kind: ImportKind) -> [SwiftImport] {
        let modes = configuration.modes
        let hasTypes = modes.contains(.types) || modes.contains(.schemas)
        var result: [SwiftImport] = [SwiftImport(module: "OpenAPISwiftRuntime", isSPI: true)]
        switch kind {
        case .shared(let usesAcceptHeaders):
            // The default value of an argument of a public function exposes the module without mentioning it.
            if usesAcceptHeaders, configuration.accessModifier == .public { result[0].isExposed = true }
            result[0].isReexported = true
            if !document.servers.isEmpty { result.append(SwiftImport(module: "Foundation", isExposed: true)) }
        case .schemas, .declarations:
            result.append(SwiftImport(module: "StreamingJSON"))
        case .client, .server:
            result.append(SwiftImport(module: "StreamingJSON"))
            result.append(SwiftImport(module: "Foundation", isExposed: true))
            result.append(SwiftImport(module: "HTTPTypes"))
        }
        // If the types are in another module, the declarations of client and server contain its names.
        var isExposed = !hasTypes
        if case .schemas = kind, !configuration.typeOverrides.isEmpty { isExposed = true }
        var additional = configuration.additionalImports
        let namesFoundation = configuration.typeOverrides.values.contains { $0.hasPrefix("Foundation.") }
        if case .schemas = kind, namesFoundation, !additional.contains("Foundation") { additional.append("Foundation") }
        for module in additional {
            if let index = result.firstIndex(where: { $0.module == module }) {
                result[index].isWhole = true
            } else {
                result.append(SwiftImport(module: module, isWhole: true, isExposed: isExposed))
            }
        }
        return result
    }

    /// The kinds of files, which import different modules.
    private enum ImportKind {
        case shared(usesAcceptHeaders: Bool)
        case schemas
        case declarations
        case client
        case server
    }
}
