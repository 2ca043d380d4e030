/// The parameters of operations, and the header fields of responses and parts.
extension OperationTranslator {
    /// The parameters of an operation. A parameter that is the whole query excludes all others of the query.
    mutating func parameters(of resolved: ResolvedOperation) -> [Placed<Parameter>] {
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

    mutating func fields(
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
            case .component(let component):
                type = components.parameterTypes[ExactText(component.key)]
                repeatName(of: component.swiftName, type, schema, in: &parent)
            case .inline:
                type = types.type(of: schema, named: "\(names.typeName(value.name))Payload", in: &parent)
            }
            guard let type, type.unwrapped != .body else { continue }
            let isRequired = value.isRequired || location == .path
            let members: (shape: String, styles: String) = form.map { shapes.form(of: $0) } ?? ("", "")
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
                    shape: isJSON ? ".json" : form == nil ? shapes.shape(of: schema) : members.shape
                )
            )
        }
        return result
    }

    /// Names the type of a component again where the component is used, as callers of Apple's generator may write it.
    private func repeatName(
        of name: String,
        _ type: SwiftType?,
        _ schema: Schema,
        in parent: inout DeclarationScope
    ) {
        guard let type, types.simpleType(of: schema) == nil else { return }
        if case .array = types.schemas.shape(of: schema) { return }
        parent.declarations.append(.alias(documentation: nil, name: parent.names.claim(name), target: type))
    }

    mutating func schema(of parameter: Parameter, foundIn: String) -> Schema? {
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

    private mutating func leaveOut(_ parameter: Parameter, _ reason: String, foundIn: String) {
        diagnostics.warn(
            "The \(parameter.location.rawValue) parameter '\(parameter.name)' is left out: \(reason)",
            at: parameter.position,
            foundIn: foundIn
        )
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
                let schema: Schema? = header.schema ?? header.content.first?.schema
                if let schema { repeatName(of: component.swiftName, type, schema, in: &parent) }
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
            guard let type, !type.isStream else { continue }
            let isOptional = !header.isRequired || types.schemas.isNullable(schema)
            result.append(
                TranslatedParameter(
                    key: key,
                    name: scope.claim(names.memberName(key)),
                    type: isOptional ? type.asOptional : type,
                    documentation: header.documentation,
                    // Upstream's callers see no warnings about header fields that they receive.
                    isDeprecated: false,
                    style: "simple",
                    explode: false,
                    isJSON: isJSON,
                    shape: shapes.shape(of: schema)
                )
            )
        }
        return result
    }
}
