import CloudKitModel
package import CloudKitRuleIDs
import CloudKitSchema

/// The indexes that queries need where a schema was imported. Without an imported schema every field has every index.
///
/// Source: section "The schema language" of the protocol reference; the words of the failures were observed live for
/// `QUERYABLE`.
package enum IndexRules {
    /// The rules of the protocol about indexes, which the contract checks.
    package static let identifiers: [RuleID] = [
        .filterWithoutIndex, .sortWithoutIndex, .searchWithoutIndex, .queryWithoutFilter,
    ]

    /// The index that a filter needs.
    static func index(
        for comparator: QueryFilter.Comparator.Known,
        _ unsettled: EmulatorConfiguration.Unsettled
    ) -> FieldIndexes {
        comparator.index == .sortable && unsettled.rangeIndex == .queryable ? .queryable : comparator.index
    }

    /// Throws where a field lacks an index.
    static func require(
        _ index: FieldIndexes,
        of subject: QuerySubject,
        in type: Schema.RecordType
    ) throws(EmulatorError) {
        guard let indexes = type.indexes(of: subject), !indexes.contains(index) else { return }
        let name = index.names.joined(separator: ", ").lowercased()
        let rule: RuleID =
            switch index {
            case .sortable: .sortWithoutIndex
            case .searchable: .searchWithoutIndex
            default: .filterWithoutIndex
            }
        throw .badRequest("Field '\(subject.name)' is not marked \(name)").refused(by: rule)
            .helped(by: .index(name, field: subject.name, recordType: type.name))
    }

    /// A query without filters asks for all records by their names (observed live: "Field 'recordName' is not marked
    /// queryable").
    static func requireFilter(_ filters: [QueryFilter], of type: Schema.RecordType) throws(EmulatorError) {
        guard filters.isEmpty else { return }
        do {
            try require(.queryable, of: .system(.recordID), in: type)
        } catch {
            throw error.refused(by: .queryWithoutFilter)
        }
    }
}

extension Schema.RecordType {
    /// The indexes of the subject of a filter or a sort; `nil` where no imported schema restricts them.
    func indexes(of subject: QuerySubject) -> FieldIndexes? {
        guard let declaration = enforcedDeclaration else { return nil }
        switch subject {
        case .field(_, let name, _): return declaration[field: name]?.indexes
        case .system(let field): return declaration[field: field.rawValue]?.indexes ?? []
        }
    }

    /// The fields that a text search without a field name looks in; `nil` for all.
    var searchedFields: Set<String>? {
        guard let declaration = enforcedDeclaration else { return nil }
        let undeclared = fields.keys.filter { declaration[field: $0] == nil }
        return Set(declaration.fields.filter { $0.indexes.contains(.searchable) }.map(\.name)).union(undeclared)
    }
}
