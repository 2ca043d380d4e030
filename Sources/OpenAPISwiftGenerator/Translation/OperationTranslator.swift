/// Translates parameters, bodies, responses and operations into declarations, and into the values from which the
/// translators of client and server work.
struct OperationTranslator {
    let document: ResolvedDocument
    let names: NameAssigner
    /// Translates the schemas found on the way.
    let types: SchemaTranslator
    let diagnostics: Diagnostics

    /// Components of kinds other than schema.
    struct TranslatedComponents: Sendable {
        var parameters: [Declaration] = []
        var headers: [Declaration] = []
        var requestBodies: [Declaration] = []
        var responses: [Declaration] = []
        /// Component schemas that are enums of parts.
        var schemas: [Declaration] = []
        /// By the key of the component schema.
        var multipart: [ExactText: TranslatedMultipart] = [:]
        fileprivate(set) var parameterTypes: [ExactText: SwiftType] = [:]
        fileprivate(set) var headerTypes: [ExactText: SwiftType] = [:]
        fileprivate(set) var bodies: [ExactText: TranslatedBody] = [:]
        /// By key, in document order.
        fileprivate(set) var responseParts: OrderedMap<TranslatedResponse> = .init()
    }

    var components = TranslatedComponents()
    /// The types that several operations declare in the same way.
    var shared = SharedDeclarations()
    /// The types of path parameters that the configuration names.
    var pathTypes: PathTypes
    /// The keys of the component schemas that are enums of parts.
    let multipartSchemas: Set<ExactText>

    init(
        document: ResolvedDocument,
        names: NameAssigner,
        types: SchemaTranslator,
        multipartSchemas: Set<ExactText>,
        pathTypes: [String: [String]]
    ) {
        self.multipartSchemas = multipartSchemas
        self.document = document
        self.names = names
        self.types = types
        diagnostics = types.diagnostics
        self.pathTypes = PathTypes(
            pathTypes,
            parameterTypes: document.parameters.map(\.swiftName),
            diagnostics: diagnostics
        )
    }

    // MARK: Components

    mutating func translateComponents() {
        translateParameters()
        translateHeaders()
        translateMultipartComponents()
        let bodyNames = NameScope(taken: Set(document.requestBodies.map(\.swiftName)))
        for component in document.requestBodies {
            var parent = DeclarationScope(path: "Components.RequestBodies", names: bodyNames)
            let content = component.value.content
            guard let body = translateBody(content, named: component.swiftName, in: &parent) else { continue }
            components.bodies[ExactText(component.key)] = body
            components.requestBodies += parent.declarations
        }
        let responseNames = NameScope(taken: Set(document.responses.map(\.swiftName)))
        for component in document.responses {
            var parent = DeclarationScope(path: "Components.Responses", names: responseNames)
            let model = translate(
                component.value,
                status: .default,
                named: component.swiftName,
                isComponent: true,
                in: &parent
            )
            components.responseParts[component.key] = model
            components.responses += parent.declarations
        }
    }

    private mutating func translateParameters() {
        var parent = DeclarationScope(
            path: "Components.Parameters",
            names: NameScope(taken: Set(document.parameters.map(\.swiftName)))
        )
        for component in document.parameters {
            guard let schema = schema(of: component.value, foundIn: "Components.Parameters.\(component.swiftName)"),
                let type = componentType(
                    of: schema,
                    named: component.swiftName,
                    documentation: component.value.documentation,
                    in: &parent
                )
            else { continue }
            components.parameterTypes[ExactText(component.key)] = type
        }
        components.parameters = parent.declarations
    }

    private mutating func translateHeaders() {
        var parent = DeclarationScope(
            path: "Components.Headers",
            names: NameScope(taken: Set(document.headers.map(\.swiftName)))
        )
        for component in document.headers {
            let schema: Schema? = component.value.schema ?? component.value.content.first?.schema
            guard let schema,
                let type = componentType(
                    of: schema,
                    named: component.swiftName,
                    documentation: component.value.documentation,
                    in: &parent
                )
            else { continue }
            components.headerTypes[ExactText(component.key)] = type
        }
        components.headers = parent.declarations
    }

    /// Declares a component's type under the component's name. It is an alias if the schema needs no type of its own.
    private mutating func componentType(
        of schema: Schema,
        named name: String,
        documentation: String?,
        in parent: inout DeclarationScope
    ) -> SwiftType? {
        let full = "\(parent.path).\(name)"
        if let type = types.simpleType(of: schema), types.schemas.unsupportedReason(of: schema) == nil {
            parent.declarations.append(.alias(documentation: documentation, name: name, target: type.text))
            return type.needsClosure || type == .body ? .alias(full, type) : .named(full)
        }
        // The name belongs to this component already, so a new scope may claim it again.
        var inner = DeclarationScope(path: parent.path)
        let type = types.type(of: schema, named: name, in: &inner)
        parent.declarations += inner.declarations
        return type
    }

    private mutating func schema(of parameter: Parameter, foundIn: String) -> Schema? {
        let isQueryString = parameter.location == .querystring
        if let schema = parameter.schema, !isQueryString { return schema }
        guard let content = parameter.content.first else {
            if !isQueryString { return Schema(.init(position: parameter.position, kinds: [.string])) }
            leaveOut(parameter, "a query string needs 'content'.", foundIn: foundIn)
            return nil
        }
        switch MediaTypeName(content.name)?.coding {
        case .json: return content.schema ?? Schema(.init(position: parameter.position))
        case .form where isQueryString:
            if let schema = content.schema, types.schemas.isObjectLike(schema) { return schema }
            leaveOut(parameter, "a form needs the schema of an object.", foundIn: foundIn)
        default:
            leaveOut(parameter, "content of type '\(content.name)' is not supported there.", foundIn: foundIn)
        }
        return nil
    }

    private mutating func leaveOut(_ parameter: Parameter, _ reason: String, foundIn: String) {
        diagnostics.warn(
            "The \(parameter.location.rawValue) parameter '\(parameter.name)' is left out: \(reason)",
            at: parameter.position,
            foundIn: foundIn
        )
    }

    // MARK: Operations

    mutating func translate(_ resolved: ResolvedOperation) -> TranslatedOperation {
        let path = "Operations.\(resolved.typeName)"
        let inputPath = "\(path).Input"
        var pathScope = DeclarationScope(path: "\(inputPath).Path")
        var queryScope = DeclarationScope(path: "\(inputPath).Query")
        var headerScope = DeclarationScope(path: "\(inputPath).Headers")
        var cookieScope = DeclarationScope(path: "\(inputPath).Cookies")
        let parameters = parameters(of: resolved)
        let pathFields = fields(of: parameters, at: .path, in: &pathScope)
        checkPlaceholders(of: resolved.operation, pathFields)
        var queryFields = fields(of: parameters, at: .query, in: &queryScope)
        queryFields += fields(of: parameters, at: .querystring, in: &queryScope)
        let headerFields = fields(of: parameters, at: .header, in: &headerScope)
        let cookieFields = fields(of: parameters, at: .cookie, in: &cookieScope)

        var inputScope = DeclarationScope(path: inputPath)
        let body = requestBody(of: resolved, in: &inputScope)
        let isBodyRequired: Bool = resolved.requestBody?.value.isRequired ?? false

        var outputScope = DeclarationScope(path: "\(path).Output")
        var responses: [TranslatedResponse] = []
        for (status, response) in resolved.responses {
            responses.append(translate(response, status: status, in: &outputScope))
        }
        let acceptable = acceptableTypes(of: responses)

        pathTypes.declare(pathFields, nested: pathScope.declarations, of: resolved.operation, sharing: &shared)
        var input = InputDeclaration(path: path)
        input.addGroup("path", "Path", fields: pathFields, nested: pathScope.declarations, sharing: &shared)
        input.addGroup("query", "Query", fields: queryFields, nested: queryScope.declarations, sharing: &shared)
        input.addGroup(
            "headers",
            "Headers",
            fields: headerFields,
            nested: headerScope.declarations,
            accept: acceptable.isEmpty
                ? nil
                : isOnlyJSON(acceptable) ? "OpenAPISwiftRuntime.JSONContentType" : "\(path).AcceptableContentType",
            sharing: &shared
        )
        input.addGroup("cookies", "Cookies", fields: cookieFields, nested: cookieScope.declarations, sharing: &shared)
        input.addBody(body, isRequired: isBodyRequired, nested: inputScope.declarations)

        var members: [Declaration] = [
            .property(
                PropertyDeclaration(
                    modifiers: "static ",
                    name: "id",
                    type: "Swift.String",
                    body: [.line(stringLiteral(resolved.operation.documentName))]
                )
            ),
            input.declaration,
            OutputDeclaration(responses: responses).declaration(nested: outputScope.declarations),
        ]
        if isOnlyJSON(acceptable) {
            members.append(
                .alias(
                    documentation: nil,
                    name: "AcceptableContentType",
                    target: "OpenAPISwiftRuntime.JSONContentType"
                )
            )
        } else if !acceptable.isEmpty {
            let key = acceptable.flatMap { [$0.name, $0.mediaType] }
            let first = shared.first("accept \(key)", at: "\(path).AcceptableContentType")
            members.append(
                first.map { .alias(documentation: nil, name: "AcceptableContentType", target: $0) }
                    ?? acceptableDeclaration(acceptable)
            )
        }
        return TranslatedOperation(
            path: path,
            methodName: resolved.methodName,
            operation: resolved.operation,
            pathFields: pathFields,
            queryFields: queryFields,
            headerFields: headerFields,
            cookieFields: cookieFields,
            body: body,
            isBodyRequired: isBodyRequired,
            responses: responses,
            acceptable: acceptable,
            declaration: .type(
                TypeDeclaration(
                    documentation: OperationTranslator.documentation(of: resolved.operation),
                    keyword: .enumeration,
                    name: resolved.typeName,
                    members: members
                )
            )
        )
    }

    /// Reports each placeholder whose parameter was left out. Without its value, requests would have a wrong path.
    private func checkPlaceholders(of operation: Operation, _ fields: [TranslatedParameter]) {
        for name in PathTemplate(operation.path).names where !fields.contains(where: { $0.key == name }) {
            diagnostics.report(
                diagnostics.error(
                    "The operation \(operation.method) \(operation.path) has no form for its path parameter '\(name)'.",
                    at: operation.position,
                    remedy: "describe the parameter by a schema of text, numbers, arrays or objects, in the style "
                        + "'simple', 'label' or 'matrix'"
                )
            )
        }
    }

    /// The summary and the description of an operation, and its method and path.
    static func documentation(of operation: Operation) -> String {
        [operation.summary, operation.documentation, remark(of: operation)].compactMap { $0 }.joined(separator: "\n\n")
    }

    static func remark(of operation: Operation) -> String {
        "- Remark: HTTP `\(operation.method) \(operation.path)`."
    }

    /// The parameters of an operation. A parameter that is the whole query excludes all others of the query.
    private mutating func parameters(of resolved: ResolvedOperation) -> [Placed<Parameter>] {
        var hasQuery = resolved.parameters.contains { $0.value.location == .query }
        return resolved.parameters.filter { parameter in
            guard parameter.value.location == .querystring else { return true }
            if hasQuery {
                let reason = "a query string cannot be combined with query parameters."
                leaveOut(parameter.value, reason, foundIn: "Operations.\(resolved.typeName)")
            }
            defer { hasQuery = true }
            return !hasQuery
        }
    }

    // MARK: Parameters

    private mutating func fields(
        of parameters: [Placed<Parameter>],
        at location: Parameter.Location,
        in parent: inout DeclarationScope
    ) -> [TranslatedParameter] {
        var scope = NameScope(taken: location == .header ? [names.memberName("accept")] : [])
        var result: [TranslatedParameter] = []
        for parameter in parameters where parameter.value.location == location {
            let value = parameter.value
            if location == .header, ["accept", "content-type", "authorization"].contains(value.name.lowercased()) {
                continue
            }
            guard let schema = schema(of: value, foundIn: parent.path),
                let style = style(of: value, schema, foundIn: parent.path)
            else { continue }
            let form: MediaType? = style.name == "form" && location == .querystring ? value.content.first : nil
            let isJSON = style.name == "json"
            let type: SwiftType?
            switch parameter {
            case .component(let component): type = components.parameterTypes[ExactText(component.key)]
            case .inline:
                type = types.type(of: schema, named: "\(names.typeName(value.name))Payload", in: &parent)
            }
            guard let type, type.unwrapped != .body else { continue }
            let isRequired = value.isRequired || location == .path
            let members: (shape: String, styles: String) = form.map { formShape(of: $0) } ?? ("", "")
            result.append(
                TranslatedParameter(
                    key: value.name,
                    name: scope.claim(names.memberName(value.name)),
                    type: isRequired ? type : type.asOptional,
                    documentation: value.documentation,
                    isDeprecated: value.isDeprecated,
                    style: style.name,
                    explode: style.explode,
                    isJSON: isJSON,
                    isQueryString: location == .querystring,
                    memberStyles: members.styles,
                    shape: isJSON ? ".json" : form == nil ? shape(of: schema) : members.shape
                )
            )
        }
        return result
    }

    private mutating func style(
        of parameter: Parameter,
        _ schema: Schema,
        foundIn: String
    ) -> (name: String, explode: Bool)? {
        if parameter.location == .querystring {
            let isForm: Bool = parameter.content.first.flatMap { MediaTypeName($0.name) }?.coding == .form
            return (isForm ? "form" : "json", false)
        }
        if parameter.schema == nil, !parameter.content.isEmpty { return ("json", false) }
        let standard: String = [.query, .cookie].contains(parameter.location) ? "form" : "simple"
        let name = parameter.style ?? standard
        let explode = parameter.explode ?? ["form", "deepObject", "cookie"].contains(name)
        switch (parameter.location, name) {
        case (.path, "simple"): return (name, false)
        case (.path, "matrix"), (.path, "label"): return (name, explode)
        case (.query, "form"): return (name, explode)
        case (.query, "deepObject") where explode: return (name, true)
        // With `explode`, these styles give the same text as the form style.
        case (.query, "spaceDelimited"), (.query, "pipeDelimited"): return explode ? ("form", true) : (name, false)
        // `explode` only changes how the members of objects are written.
        case (.header, "simple") where !explode || !types.schemas.isObjectLike(schema): return (name, false)
        case (.cookie, "form"), (.cookie, "cookie"): return (name, explode)
        default:
            let style = "style '\(name)'\(explode ? "" : " without explode")"
            leaveOut(parameter, "\(style) is not supported there.", foundIn: foundIn)
            return nil
        }
    }

    /// The size of the shape of one parameter so far.
    ///
    /// Objects of objects can have very many members. Those beyond the limit are read as their text suggests.
    private final class ShapeSize {
        private var count = 0
        private(set) var isExceeded = false

        /// Adds a shape, and returns whether there is room for it.
        func add() -> Bool {
            count += 1
            if count > 2000 { isExceeded = true }
            return !isExceeded
        }
    }

    /// The source of a `ParameterShape`, which says how text becomes JSON.
    private func shape(of schema: Schema) -> String {
        let size = ShapeSize()
        let source = shape(of: schema, depth: 0, size)
        warn(about: size, of: schema)
        return source
    }

    private func warn(about size: ShapeSize, of schema: Schema) {
        guard size.isExceeded else { return }
        diagnostics.warn(
            "The parameter has more than 2000 members inside of members: the others are read as their text suggests.",
            at: schema.position,
            remedy: "send such a value as a body"
        )
    }

    private func shape(of schema: Schema, depth: Int, _ size: ShapeSize) -> String {
        guard depth < 6, size.add() else { return ".any" }
        switch types.schemas.shape(of: schema) {
        case .reference(let entry):
            guard let end = types.schemas.chainEnd(of: entry) else { return ".any" }
            return shape(of: end.schema, depth: depth + 1, size)
        case .scalar(let type):
            switch type {
            case .bool: return ".boolean"
            case .int, .int32, .int64, .double, .float: return ".number"
            case .value, .valueObject, .valueArray: return ".any"
            default: return ".string"
            }
        case .stringEnumeration: return ".string"
        case .integerEnumeration: return ".number"
        case .array(let items): return ".array(\(shape(of: items, depth: depth + 1, size)))"
        case .object: return MembersShape(of: schema, depth: depth, self, size).source
        case .allOf(let members), .anyOf(let members), .oneOf(let members):
            if case .oneOf = types.schemas.shape(of: schema) {
                // Each has its own members.
            } else if members.count > 1, let shape = MembersShape(merging: members, depth: depth, self, size) {
                return shape.source
            }
            let shapes = members.map { shape(of: $0, depth: depth + 1, size) }
            return shapes.count == 1 ? shapes[0] : ".choice([\(shapes.joined(separator: ", "))])"
        case .unsupported: return ".any"
        }
    }

    /// The shapes of the members of an object, as source.
    private struct MembersShape {
        private var members: [(name: String, shape: String)] = []
        private var names: Set<String> = []
        private let size: ShapeSize
        private var additional = "nil"
        /// The members of a form that are sent as JSON text.
        private var jsonMembers: Set<String> = []

        init(of schema: Schema, depth: Int, _ translator: OperationTranslator, _ size: ShapeSize) {
            self.size = size
            add(schema, depth: depth, translator)
        }

        /// Merges the members of several objects; `nil` if one of the schemas is not an object.
        init?(
            merging schemas: [Schema],
            depth: Int,
            jsonMembers: Set<String> = [],
            _ translator: OperationTranslator,
            _ size: ShapeSize
        ) {
            self.size = size
            self.jsonMembers = jsonMembers
            guard addAll(schemas, depth: depth, translator) else { return nil }
        }

        private mutating func addAll(_ schemas: [Schema], depth: Int, _ translator: OperationTranslator) -> Bool {
            guard depth < 6 else { return false }
            for schema in schemas {
                var schema = schema
                if case .reference(let entry) = translator.types.schemas.shape(of: schema) {
                    guard let end = translator.types.schemas.chainEnd(of: entry), end.override == nil else {
                        return false
                    }
                    schema = end.schema
                }
                switch translator.types.schemas.shape(of: schema) {
                case .object: add(schema, depth: depth + 1, translator)
                case .allOf(let members), .anyOf(let members):
                    guard addAll(members, depth: depth + 1, translator) else { return false }
                default: return false
                }
            }
            return true
        }

        private mutating func add(_ schema: Schema, depth: Int, _ translator: OperationTranslator) {
            for property in schema.properties where names.insert(property.name).inserted {
                var shape = translator.shape(of: property.schema, depth: depth + 1, size)
                if jsonMembers.contains(property.name) {
                    shape = ".json"
                } else if schema.requires(property.name), shape.hasPrefix(".array(") {
                    // An empty array adds nothing to the text, so a missing member means an empty array.
                    shape = ".requiredArray(" + shape.dropFirst(".array(".count)
                }
                members.append((property.name, shape))
            }
            switch schema.additionalProperties {
            case .schema(let value): additional = translator.shape(of: value, depth: depth + 1, size)
            case .allowed: additional = ".any"
            case .unspecified, .forbidden: break
            }
        }

        var source: String {
            let list = members.map { "\(stringLiteral($0.name)): \($0.shape)" }.joined(separator: ", ")
            return ".object([\(list.isEmpty ? ":" : list)], additional: \(additional))"
        }
    }

    // MARK: Bodies

    /// The shape of a form and the styles of its members, as source.
    private func formShape(of item: MediaType) -> (shape: String, styles: String) {
        guard let schema = item.schema else { return ("", "") }
        var styles: [String] = []
        var jsonMembers: Set<String> = []
        for (name, encoding) in item.encoding.pairs {
            let style: String
            let explode: Bool
            if let name = encoding.style {
                explode = encoding.explode ?? ["form", "deepObject"].contains(name)
                style = explode && name.hasSuffix("Delimited") ? "form" : name
            } else if let isExploded = encoding.explode {
                (style, explode) = ("form", isExploded)
            } else if encoding.contentType.flatMap({ MediaTypeName($0) })?.coding == .json {
                (style, explode) = ("json", false)
                jsonMembers.insert(name)
            } else {
                continue
            }
            let isKnown: Bool = ["form", "deepObject", "spaceDelimited", "pipeDelimited", "json"].contains(style)
            guard isKnown, style != "form" || !explode else { continue }
            styles.append(
                "\(stringLiteral(name)): OpenAPISwiftRuntime.FormMemberStyle(.\(style), explode: \(explode))"
            )
        }
        let list = styles.isEmpty ? "" : ", styles: [\(styles.joined(separator: ", "))]"
        let size = ShapeSize()
        let members = MembersShape(merging: [schema], depth: 0, jsonMembers: jsonMembers, self, size)
        warn(about: size, of: schema)
        return (members?.source ?? shape(of: schema), list)
    }

    private mutating func requestBody(
        of resolved: ResolvedOperation,
        in parent: inout DeclarationScope
    ) -> TranslatedBody? {
        switch resolved.requestBody {
        case .component(let component)?: return components.bodies[ExactText(component.key)]
        case .inline(let body)?: return translateBody(body.content, named: "Body", in: &parent)
        case nil: return nil
        }
    }

    /// The body of a content that is only `application/json`, if the runtime's body type can hold it.
    ///
    /// If the schema needs a type, it is declared beside the body, under a name that begins with the name of the body
    /// or of its response. The runtime's body has an alias for it, with the name that callers know.
    private mutating func jsonBody(
        of content: [MediaType],
        path: String,
        prefix: String,
        isResponse: Bool,
        in parent: inout DeclarationScope
    ) -> TranslatedBody? {
        guard content.count == 1, let mediaType = MediaTypeName(content[0].name), mediaType.coding == .json,
            names.contentName(mediaType) == "json",
            let type = jsonType(of: content[0].schema, prefix: prefix, isResponse: isResponse, in: &parent)
        else { return nil }
        let item = TranslatedBody.Case(
            name: "json",
            mediaType: mediaType,
            contentType: content[0].name,
            coding: .json,
            type: type
        )
        let isForeign = type.isOptional || content[0].schema.map(types.isForeign) == true
        return TranslatedBody(
            path: path,
            cases: [item],
            isJSONBody: true,
            conformances: isForeign ? "StreamingJSON" : nil
        )
    }

    private mutating func jsonType(
        of schema: Schema?,
        prefix: String,
        isResponse: Bool,
        in parent: inout DeclarationScope
    ) -> SwiftType? {
        guard let schema else { return .value }
        guard types.schemas.unsupportedReason(of: schema) == nil else { return nil }
        let isNullable = isResponse && isNullableInline(schema)
        if let type = types.simpleType(of: schema) {
            if type.needsClosure || isStream(type) { return nil }
            return isNullable ? type.asOptional : type
        }
        // The runtime's `jsonPayload` is an alias of the value's type. Callers expect the type without its `?`.
        guard !isNullable else { return nil }
        let name = "\(names.typeName("json"))Payload"
        guard name == "JsonPayload" || name == "jsonPayload" else { return nil }
        switch types.schemas.shape(of: schema) {
        case .reference, .scalar, .array, .unsupported: return nil
        case .object, .stringEnumeration, .integerEnumeration, .allOf, .anyOf, .oneOf:
            return types.type(of: schema, named: "\(prefix)JsonPayload", in: &parent)
        }
    }

    /// Whether the schema is written inline, and `null` is one of its values.
    private func isNullableInline(_ schema: Schema) -> Bool {
        schema.reference == nil && types.schemas.isNullable(schema)
    }

    /// Declares the enum of a body, or an alias of an equal enum that exists already. `nil` when no media type is
    /// supported.
    ///
    /// A payload that may be `null` is an optional in a response, but not in a request.
    private mutating func translateBody(
        _ content: [MediaType],
        named name: String,
        isResponse: Bool = false,
        in parent: inout DeclarationScope
    ) -> TranslatedBody? {
        let path = "\(parent.path).\(name)"
        if let body = jsonBody(of: content, path: path, prefix: name, isResponse: isResponse, in: &parent) {
            let target = "OpenAPISwiftRuntime.JSONBody<\(body.cases[0].type.text)>"
            parent.declarations.append(
                .alias(documentation: nil, name: name, target: target, conformancesOf: body.conformances)
            )
            return body
        }
        return translate(content, named: name, isResponse: isResponse, in: &parent)
    }

    /// Declares the enum of a body. `nil` when no media type is supported.
    private mutating func translate(
        _ content: [MediaType],
        named name: String,
        isResponse: Bool,
        in parent: inout DeclarationScope
    ) -> TranslatedBody? {
        let path = "\(parent.path).\(name)"
        var inner = DeclarationScope(path: path)
        var scope = NameScope()
        var cases: [TranslatedBody.Case] = []
        for item in content {
            guard let mediaType = MediaTypeName(item.name) else { continue }
            let type: SwiftType?
            var parts: TranslatedMultipart?
            switch mediaType.coding {
            case .json:
                if let schema = item.schema {
                    let hint = "\(names.typeName(names.contentName(mediaType)))Payload"
                    let value = types.type(of: schema, named: hint, in: &inner)
                    type = isResponse && isNullableInline(schema) ? value?.asOptional : value
                } else {
                    type = .value
                }
            case .raw: type = .body
            case .form:
                type = formType(of: item, named: names.contentName(mediaType), in: &inner)
            case .multipart:
                parts = multipart(of: item, named: names.contentName(mediaType), in: &inner)
                type = parts.map { .named("OpenAPISwiftRuntime.MultipartBody<\($0.path)>") }
            }
            guard let type, mediaType.coding == .raw || !isStream(type) else { continue }
            let form: (shape: String, styles: String) = mediaType.coding == .form ? formShape(of: item) : ("", "")
            cases.append(
                TranslatedBody.Case(
                    name: scope.claim(names.contentName(mediaType)),
                    mediaType: mediaType,
                    contentType: item.name,
                    coding: mediaType.coding,
                    type: type,
                    shape: form.shape,
                    styles: form.styles,
                    multipart: parts
                )
            )
        }
        guard !cases.isEmpty else { return nil }
        let model = TranslatedBody(path: path, cases: cases)
        let key = cases.flatMap { [$0.name, $0.contentType, $0.type.text] }
        if inner.declarations.isEmpty, let first = shared.first("body \(key)", at: path) {
            parent.declarations.append(.alias(documentation: nil, name: name, target: first))
        } else {
            parent.declarations.append(bodyDeclaration(model, named: name, nested: inner.declarations))
        }
        return model
    }

    /// The type of a URL-encoded form, whose members are those of an object.
    private mutating func formType(
        of item: MediaType,
        named name: String,
        in parent: inout DeclarationScope
    ) -> SwiftType? {
        guard let schema = item.schema, types.schemas.isObjectLike(schema) else {
            diagnostics.warn(
                "The media type '\(item.name)' is left out: a form needs the schema of an object.",
                at: item.position,
                remedy: "describe the members of the form as an object's properties",
                foundIn: parent.path
            )
            return nil
        }
        return types.type(of: schema, named: "\(names.typeName(name))Payload", in: &parent)
    }

    func isStream(_ type: SwiftType) -> Bool {
        switch type {
        case .body: true
        case .alias(_, let inner), .array(let inner): isStream(inner)
        default: false
        }
    }

    private func bodyDeclaration(_ body: TranslatedBody, named name: String, nested: [Declaration]) -> Declaration {
        var members = nested
        for item in body.cases {
            members.append(
                .enumCase(documentation: "`\(item.contentType)`", text: "\(escaped(item.name))(\(item.type.text))")
            )
        }
        for item in body.cases {
            var cases: [Statement] = [.label("case .\(escaped(item.name))(let body):", [.line("return body")])]
            if body.cases.count > 1 {
                cases.append(
                    .label(
                        "default:",
                        [
                            .line(
                                "throw OpenAPISwiftRuntime.unexpectedBody(expected: \(stringLiteral(item.name)), found: self)"
                            )
                        ]
                    )
                )
            }
            members.append(
                .property(
                    PropertyDeclaration(
                        name: escaped(item.name),
                        type: item.type.text,
                        effects: "throws",
                        body: [.block("switch self", cases)]
                    )
                )
            )
        }
        return .type(
            TypeDeclaration(
                keyword: .enumeration,
                name: name,
                inherits: ["OpenAPISwiftRuntime.OperationValue"],
                members: members
            )
        )
    }

    // MARK: Responses

    private mutating func translate(
        _ response: Placed<Response>,
        status: ResponseStatus,
        in parent: inout DeclarationScope
    ) -> TranslatedResponse {
        switch response {
        case .component(let component):
            guard var model = components.responseParts[component.key] else {
                return translate(
                    component.value,
                    status: status,
                    named: StatusNames.typeName(status),
                    isComponent: false,
                    in: &parent
                )
            }
            model.status = status
            model.caseName = StatusNames.caseName(status)
            return model
        case .inline(let value):
            return translate(
                value,
                status: status,
                named: StatusNames.typeName(status),
                isComponent: false,
                in: &parent
            )
        }
    }

    private mutating func translate(
        _ response: Response,
        status: ResponseStatus,
        named name: String,
        isComponent: Bool,
        in parent: inout DeclarationScope
    ) -> TranslatedResponse {
        var inner = DeclarationScope(path: "\(parent.path).\(escaped(name))")
        var headerScope = DeclarationScope(path: "\(inner.path).Headers")
        let headers = self.headers(response.headers, of: "response", in: &headerScope)
        var body: TranslatedBody?
        // The runtime's type, if one can hold the response.
        var target: String?
        if headers.isEmpty,
            let json = jsonBody(
                of: response.content,
                path: "\(inner.path).Body",
                prefix: name,
                isResponse: true,
                in: &parent
            )
        {
            body = json
            target = "JSONResponse<\(json.cases[0].type.text)>"
        } else {
            body = translateBody(response.content, named: "Body", isResponse: true, in: &inner)
            if headers.isEmpty, body == nil { target = "EmptyResponse" }
        }
        let model = TranslatedResponse(
            status: status,
            caseName: StatusNames.caseName(status),
            path: inner.path,
            isComponent: isComponent,
            headers: headers,
            body: body,
            documentation: response.documentation
        )
        if let target {
            parent.declarations.append(
                .alias(
                    documentation: isComponent ? response.documentation : nil,
                    name: escaped(name),
                    target: "OpenAPISwiftRuntime.\(target)",
                    conformancesOf: body?.conformances
                )
            )
            return model
        }
        var structure = StructDeclaration(
            name: escaped(name),
            documentation: isComponent ? response.documentation : nil
        )
        structure.addHeaders(
            headers,
            nested: headerScope.declarations,
            path: headerScope.path,
            of: "response",
            sharing: &shared
        )
        structure.nested += inner.declarations
        if let body {
            structure.fields.append(
                StructDeclaration.Field(name: "body", type: body.path, documentation: "The response's body.")
            )
        }
        parent.declarations.append(structure.declaration)
        return model
    }

    /// The header fields of a response or of a part.
    mutating func headers(
        _ headers: [(name: String, header: Referenced<Header>)],
        of owner: String,
        in parent: inout DeclarationScope
    ) -> [TranslatedParameter] {
        var scope = NameScope()
        var result: [TranslatedParameter] = []
        for (key, referenced) in headers {
            let header: Header
            var type: SwiftType?
            switch referenced {
            case .inline(let value):
                header = value
            case .reference(let reference):
                guard let name = reference.componentName(in: .headers),
                    let component = document.headers.first(where: { $0.key.isExactly(name) })
                else { continue }
                header = component.value
                type = components.headerTypes[ExactText(name)]
            }
            guard header.style == nil || header.style == "simple", header.explode != true else {
                diagnostics.warn(
                    "The \(owner) header '\(key)' is left out: only style 'simple' without explode is supported.",
                    at: header.position,
                    foundIn: parent.path
                )
                continue
            }
            let isJSON: Bool = header.content.first.flatMap { MediaTypeName($0.name) }?.coding == .json
            guard header.content.isEmpty || isJSON else {
                diagnostics.warn(
                    "The \(owner) header '\(key)' is left out: its content type is not supported.",
                    at: header.position,
                    foundIn: parent.path
                )
                continue
            }
            let schema: Schema =
                header.schema ?? header.content.first?.schema
                ?? Schema(.init(position: header.position, kinds: [.string]))
            if type == nil {
                type = types.type(of: schema, named: "\(names.typeName(key))Payload", in: &parent)
            }
            guard let type, !isStream(type) else { continue }
            let isOptional = !header.isRequired || types.schemas.isNullable(schema)
            result.append(
                TranslatedParameter(
                    key: key,
                    name: scope.claim(names.memberName(key)),
                    type: isOptional ? type.asOptional : type,
                    documentation: header.documentation,
                    isDeprecated: header.isDeprecated,
                    style: "simple",
                    explode: false,
                    isJSON: isJSON,
                    shape: shape(of: schema)
                )
            )
        }
        return result
    }

    // MARK: Acceptable content

    /// Whether the runtime's enum has exactly these content types.
    private func isOnlyJSON(_ acceptable: [(name: String, mediaType: String)]) -> Bool {
        acceptable.count == 1 && acceptable[0].name == "json" && acceptable[0].mediaType == "application/json"
    }

    private func acceptableTypes(of responses: [TranslatedResponse]) -> [(name: String, mediaType: String)] {
        var seen: Set<String> = []
        var scope = NameScope(taken: ["other"])
        var result: [(name: String, mediaType: String)] = []
        for item in responses.flatMap({ $0.body?.cases ?? [] }) where seen.insert(item.mediaType.essence).inserted {
            // Parameters of the media type are part of the name, as they are for the body. They are not part of the
            // header field, because content types are chosen without them.
            result.append((scope.claim(names.contentName(item.mediaType)), item.mediaType.essence))
        }
        return result
    }

    private func acceptableDeclaration(_ types: [(name: String, mediaType: String)]) -> Declaration {
        var members: [Declaration] = types.map { name, mediaType in
            .enumCase(documentation: nil, text: escaped(name))
        }
        members.append(.enumCase(documentation: nil, text: "other(Swift.String)"))
        let fromText: [Statement] =
            types.map { name, mediaType in
                .label("case \(stringLiteral(mediaType)):", [.line("self = .\(escaped(name))")])
            } + [.label("default:", [.line("self = .other(rawValue)")])]
        let toText: [Statement] =
            types.map { name, mediaType in
                .label("case .\(escaped(name)):", [.line("return \(stringLiteral(mediaType))")])
            } + [.label("case .other(let text):", [.line("return text")])]
        members.append(
            .function(
                FunctionDeclaration(
                    name: "init?",
                    parameters: [.init(label: "rawValue", type: "Swift.String")],
                    body: [.block("switch rawValue.lowercased()", fromText)]
                )
            )
        )
        members.append(
            .property(
                PropertyDeclaration(name: "rawValue", type: "Swift.String", body: [.block("switch self", toText)])
            )
        )
        let all = types.map { ".\(escaped($0.name))" }
        members.append(
            .property(
                PropertyDeclaration(
                    modifiers: "static ",
                    name: "allCases",
                    type: "[Self]",
                    body: [.line("[\(all.joined(separator: ", "))]")]
                )
            )
        )
        return .type(
            TypeDeclaration(
                keyword: .enumeration,
                name: "AcceptableContentType",
                inherits: ["OpenAPISwiftRuntime.AcceptableProtocol"],
                members: members
            )
        )
    }
}
