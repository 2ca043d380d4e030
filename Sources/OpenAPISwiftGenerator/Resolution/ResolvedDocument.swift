/// A document in which every reference is followed and every name is chosen: the input of the stage *Translation*.
struct ResolvedDocument: Sendable {
    var title: String
    var servers: [Server]
    var schemas: SchemaCatalog
    var parameters: [ResolvedComponent<Parameter>]
    var headers: [ResolvedComponent<Header>]
    var requestBodies: [ResolvedComponent<RequestBody>]
    var responses: [ResolvedComponent<Response>]
    var operations: [ResolvedOperation]
}

/// A component of a kind other than schema.
struct ResolvedComponent<Value> {
    /// The key in the document.
    var key: String
    /// The name inside its enum, `Components.Responses` for instance.
    var swiftName: String
    var value: Value
}

extension ResolvedComponent: Sendable where Value: Sendable {}

/// A value that an operation uses: written inline, or taken from the components.
enum Placed<Value> {
    case inline(Value)
    case component(ResolvedComponent<Value>)

    var value: Value {
        switch self {
        case .inline(let value): value
        case .component(let component): component.value
        }
    }
}

extension Placed: Sendable where Value: Sendable {}

/// One operation with its parameters merged and its references followed.
struct ResolvedOperation: Sendable {
    /// The name inside `Operations`.
    var typeName: String
    /// The name of the method.
    var methodName: String
    var operation: Operation
    var parameters: [Placed<Parameter>]
    var requestBody: Placed<RequestBody>?
    /// In document order, `default` last.
    var responses: [(status: ResponseStatus, response: Placed<Response>)]
}
