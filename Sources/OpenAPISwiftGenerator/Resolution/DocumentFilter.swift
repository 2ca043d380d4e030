/// Which parts of a document to use: the union of the four lists, and all that they refer to.
public struct DocumentFilter: Hashable, Sendable {
    /// By `operationId`.
    public var operations: [String]
    /// By a tag of an operation.
    public var tags: [String]
    /// By path, with all its operations.
    public var paths: [String]
    /// By the name of a component schema.
    public var schemas: [String]

    /// Creates a filter.
    public init(operations: [String] = [], tags: [String] = [], paths: [String] = [], schemas: [String] = []) {
        self.operations = operations
        self.tags = tags
        self.paths = paths
        self.schemas = schemas
    }

    func apply(to document: OpenAPIDocument, diagnostics: Diagnostics) throws(Diagnostic) -> OpenAPIDocument {
        document
    }
}
