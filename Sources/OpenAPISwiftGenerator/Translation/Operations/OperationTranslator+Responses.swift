extension OperationTranslator {
    mutating func translate(
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

    mutating func translate(
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
        var target: SwiftType?
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
            target = .runtime("JSONResponse", json.cases[0].type)
        } else {
            body = translateBody(response.content, named: "Body", isResponse: true, in: &inner)
            if headers.isEmpty, body == nil { target = .runtime("EmptyResponse") }
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
                    target: target,
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
                StructDeclaration.Field(name: "body", type: .named(body.path), documentation: "The response's body.")
            )
        }
        parent.declarations.append(structure.declaration)
        return model
    }
}
