import CloudKitModel
import CloudKitSchema

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The subject of a filter or a sort: a field of the app, or a system field.
enum QuerySubject: Hashable {
    case field(id: Int64, name: String, kind: FieldKind)
    case recordName
    case created
    case modified
    case creator
    case modifier
    case changeTag
    case parent
    case share

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
        if let field = SystemField(rawValue: name == "___recordId" ? "___recordID" : name) {
            self.init(field)
            return
        }
        switch name {
        case "recordName" where systemFieldName != nil: self = .recordName
        case "createdTimestamp" where systemFieldName != nil: self = .created
        case "modifiedTimestamp" where systemFieldName != nil: self = .modified
        case "createdUserRecordName" where systemFieldName != nil: self = .creator
        case "modifiedUserRecordName" where systemFieldName != nil: self = .modifier
        case "parent" where systemFieldName != nil: self = .parent
        case "share" where systemFieldName != nil: self = .share
        default: throw .badRequest("Unknown field '\(name)'")
        }
    }

    private init(_ field: SystemField) {
        self =
            switch field {
            case .recordID: .recordName
            case .createTime: .created
            case .modTime: .modified
            case .createdBy: .creator
            case .modifiedBy: .modifier
            case .etag: .changeTag
            case .parent: .parent
            case .share: .share
            }
    }

    /// The name in schemas; `nil` for a field of the app.
    var systemField: SystemField? { SystemField.allCases.first { QuerySubject($0) == self } }

    /// The name in error texts.
    var name: String {
        switch self {
        case .field(_, let name, _): name
        case .recordName: "recordName"
        case .created: "createdTimestamp"
        case .modified: "modifiedTimestamp"
        case .creator: "createdUserRecordName"
        case .modifier: "modifiedUserRecordName"
        case .changeTag: "___etag"
        case .parent: "parent"
        case .share: "share"
        }
    }

    var kind: FieldKind {
        switch self {
        case .field(_, _, let kind): kind
        case .created, .modified: FieldKind(.timestamp)
        case .changeTag: FieldKind(.string)
        case .recordName, .creator, .modifier, .parent, .share: FieldKind(.reference)
        }
    }

    /// The subject's value in a record; `nil` where it has none.
    func value(in candidate: QueryCandidate) throws -> FieldValue? {
        let row = candidate.row
        switch self {
        case .field(_, let name, _):
            guard let value = try candidate.content().fields[name], !value.isNull else { return nil }
            return value
        case .recordName: return .reference(Reference(recordName: row.name))
        case .created: return .timestamp(Date(milliseconds: row.created))
        case .modified: return .timestamp(Date(milliseconds: row.modified))
        case .creator: return row.creator.map { .reference(Reference(recordName: $0)) }
        case .modifier: return row.modifier.map { .reference(Reference(recordName: $0)) }
        case .changeTag: return .string(row.changeTag)
        case .parent: return try candidate.content().parent.map { .reference($0) }
        case .share: return try candidate.content().share.map { .reference($0) }
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
