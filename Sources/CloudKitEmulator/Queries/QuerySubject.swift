import CloudKitModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The subject of a filter or a sort: a field of the app, or a system field.
enum QuerySubject: Hashable {
    case field(id: Int64, name: String, kind: FieldKind)
    case system(SystemField)

    /// Finds the subject of a filter or a sort.
    ///
    /// System fields have two spellings: `systemFieldName`, and a `fieldName` that begins with `___` (page "Types",
    /// whose `___recordId` is accepted beside `___recordID`).
    init(
        fieldName: String?,
        systemFieldName: SystemFieldName?,
        of type: Schema.RecordType
    ) throws(EmulatorError) {
        guard let name = systemFieldName?.rawValue ?? fieldName else {
            throw .badRequest("BadRequestException: Unexpected input")
        }
        if systemFieldName == nil, let field = type.fields[name] {
            self = .field(id: field.id, name: name, kind: field.kind)
            return
        }
        guard let field = SystemField(fieldName: fieldName, systemFieldName: systemFieldName) else {
            throw .badRequest("Unknown field '\(name)'")
        }
        self = .system(field)
    }

    /// The name in error texts.
    var name: String {
        switch self {
        case .field(_, let name, _): name
        case .system(let field): field.queryName
        }
    }

    var kind: FieldKind {
        switch self {
        case .field(_, _, let kind): kind
        case .system(let field): FieldKind(field.valueType)
        }
    }

    /// The subject's value in a record; `nil` where it has none.
    func value(in candidate: QueryCandidate) throws -> FieldValue? {
        let row = candidate.row
        switch self {
        case .field(_, let name, _):
            guard let value = try candidate.content().fields[name], !value.isNull else { return nil }
            return value
        case .system(.recordID): return .reference(Reference(recordName: row.name))
        case .system(.createTime): return .timestamp(Date(milliseconds: row.created))
        case .system(.modTime): return .timestamp(Date(milliseconds: row.modified))
        case .system(.createdBy): return row.creator.map { .reference(Reference(recordName: $0)) }
        case .system(.modifiedBy): return row.modifier.map { .reference(Reference(recordName: $0)) }
        case .system(.etag): return .string(row.changeTag)
        case .system(.parent): return try candidate.content().parent.map { .reference($0) }
        case .system(.share): return try candidate.content().share.map { .reference($0) }
        }
    }
}

/// A record that a query looks at.
final class QueryCandidate {
    let row: RecordRow
    /// The content; `nil` until it is read.
    private(set) var knownContent: Record?

    init(row: RecordRow, content: Record? = nil) {
        self.row = row
        knownContent = content
    }

    /// The content of the record. It is read on first use, which many queries do not need.
    func content() throws -> Record {
        if let knownContent { return knownContent }
        let content = try row.content()
        knownContent = content
        return content
    }
}
