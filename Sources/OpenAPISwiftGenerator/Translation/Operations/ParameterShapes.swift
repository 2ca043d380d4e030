/// The shapes that say how the text of parameters and forms becomes JSON: the source of the runtime's `ParameterShape`.
struct ParameterShapes {
    let schemas: SchemaCatalog
    let diagnostics: Diagnostics

    /// The source of a `ParameterShape`, which says how text becomes JSON.
    func shape(of schema: Schema) -> String {
        let size = ShapeSize()
        let source = shape(of: schema, depth: 0, size)
        warn(about: size, of: schema)
        return source
    }

    /// The shape of a form and the styles of its members, as source.
    func form(of item: MediaType) -> (shape: String, styles: String) {
        guard let schema = item.schema else { return (".any", "") }
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

    fileprivate func shape(of schema: Schema, depth: Int, _ size: ShapeSize) -> String {
        guard depth < 6, size.add() else { return ".any" }
        switch schemas.shape(of: schema) {
        case .reference(let entry):
            guard let end = schemas.chainEnd(of: entry) else { return ".any" }
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
            if !schema.properties.isEmpty,
                let shape = MembersShape(merging: [schema], depth: depth, self, size)
            {
                return shape.source
            }
            if case .oneOf = schemas.shape(of: schema) {
                // Each has its own members.
            } else if members.count > 1, let shape = MembersShape(merging: members, depth: depth, self, size) {
                return shape.source
            }
            let shapes = members.map { shape(of: $0, depth: depth + 1, size) }
            return shapes.count == 1 ? shapes[0] : ".choice([\(shapes.joined(separator: ", "))])"
        case .unsupported: return ".any"
        }
    }

    private func warn(about size: ShapeSize, of schema: Schema) {
        guard size.isExceeded else { return }
        diagnostics.warn(
            "The parameter has more than 2000 members inside of members: the others are read as their text suggests.",
            at: schema.position,
            remedy: "send such a value as a body"
        )
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

/// The shapes of the members of an object, as source.
private struct MembersShape {
    private var members: [(name: String, shape: String)] = []
    private var names: Set<String> = []
    private let size: ShapeSize
    private var additional = "nil"
    /// The members of a form that are sent as JSON text.
    private var jsonMembers: Set<String> = []

    init(of schema: Schema, depth: Int, _ shapes: ParameterShapes, _ size: ShapeSize) {
        self.size = size
        add(schema, depth: depth, shapes)
    }

    /// Merges the members of several objects; `nil` if one of the schemas is not an object.
    init?(
        merging merged: [Schema],
        depth: Int,
        jsonMembers: Set<String> = [],
        _ shapes: ParameterShapes,
        _ size: ShapeSize
    ) {
        self.size = size
        self.jsonMembers = jsonMembers
        guard addAll(merged, depth: depth, shapes) else { return nil }
    }

    private mutating func addAll(_ merged: [Schema], depth: Int, _ shapes: ParameterShapes) -> Bool {
        guard depth < 6 else { return false }
        for schema in merged {
            var schema = schema
            if case .reference(let entry) = shapes.schemas.shape(of: schema) {
                guard let end = shapes.schemas.chainEnd(of: entry), end.override == nil else {
                    return false
                }
                schema = end.schema
            }
            switch shapes.schemas.shape(of: schema) {
            case .object: add(schema, depth: depth + 1, shapes)
            case .allOf(let members), .anyOf(let members):
                add(schema, depth: depth + 1, shapes)
                guard addAll(members, depth: depth + 1, shapes) else { return false }
            // One of several objects beside properties. On its own, each has its own members.
            case .oneOf(let members) where depth > 0:
                guard addAll(members, depth: depth + 1, shapes) else { return false }
            default: return false
            }
        }
        return true
    }

    private mutating func add(_ schema: Schema, depth: Int, _ shapes: ParameterShapes) {
        for property in schema.properties where names.insert(property.name).inserted {
            var shape = shapes.shape(of: property.schema, depth: depth + 1, size)
            if jsonMembers.contains(property.name) {
                shape = ".json"
            } else if schema.requires(property.name), shape.hasPrefix(".array(") {
                // An empty array adds nothing to the text, so a missing member means an empty array.
                shape = ".requiredArray(" + shape.dropFirst(".array(".count)
            }
            members.append((property.name, shape))
        }
        switch schema.additionalProperties {
        case .schema(let value): additional = shapes.shape(of: value, depth: depth + 1, size)
        case .allowed: additional = ".any"
        case .unspecified, .forbidden: break
        }
    }

    var source: String {
        let list = members.map { "\(stringLiteral($0.name)): \($0.shape)" }.joined(separator: ", ")
        return ".object([\(list.isEmpty ? ":" : list)], additional: \(additional))"
    }
}
