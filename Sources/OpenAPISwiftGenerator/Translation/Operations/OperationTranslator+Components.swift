/// The components of kinds other than schema.
extension OperationTranslator {
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
            parent.declarations.append(.alias(documentation: documentation, name: name, target: type))
            return type.needsClosure || type == .body ? .alias(full, type) : .named(full)
        }
        // The name belongs to this component already, so a new scope may claim it again.
        var inner = DeclarationScope(path: parent.path)
        let type = types.type(of: schema, named: name, in: &inner)
        parent.declarations += inner.declarations
        return type
    }
}
