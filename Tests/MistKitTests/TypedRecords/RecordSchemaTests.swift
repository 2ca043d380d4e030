import CloudKitModel
import MistKit
import Testing

/// The schemas of types for a local store, and the mistakes that they report.
struct RecordSchemaTests {
    @Test func aFieldKeepsWhatItIsMadeWith() {
        let field = RecordField<Int>(
            "count",
            indexes: .queryable,
            merge: .counter,
            formerly: ["number", "total"],
            isParent: true
        )
        #expect(
            field.schemaField
                == RecordSchema.Field(
                    name: "count",
                    type: .int64,
                    indexes: .queryable,
                    merge: .counter,
                    formerNames: ["number", "total"],
                    isParent: true
                )
        )
        #expect(
            EncryptedRecordField<[String]>("tags", merge: .union, formerly: ["labels"]).schemaField
                == RecordSchema.Field(
                    name: "tags",
                    type: .stringList,
                    isEncrypted: true,
                    merge: .union,
                    formerNames: ["labels"]
                )
        )
        #expect(Memo.schema.fields == [.init(name: "title", type: .string), .init(name: "count", type: .int64)])
    }

    /// The types that each policy fits. For all other types, the policy is a mistake.
    @Test(arguments: FieldMerge.allCases)
    func aPolicyFitsSomeTypes(merge: FieldMerge) {
        let types = FieldType.allCases
        let fitting: [FieldType] =
            switch merge {
            case .latest: types
            case .greatest, .smallest: [.string, .int64, .double, .timestamp]
            case .counter: [.int64]
            case .union:
                [.stringList, .int64List, .doubleList, .timestampList, .bytesList, .referenceList, .locationList]
            }
        for type in types {
            let problems = RecordSchema(recordType: "T", fields: [.init(name: "f", type: type, merge: merge)])
                .problems()
            #expect(problems.count == (fitting.contains(type) ? 0 : 1), "\(merge) of \(type): \(problems)")
            #expect(problems.allSatisfy { $0.contains("\"f\" of T") && $0.contains(type.rawValue) }, "\(problems)")
        }
    }

    @Test(arguments: [
        (
            [RecordSchema.Field(name: "a", type: .string, isParent: true)],
            [#"The field "a" of T cannot point to a parent: its type is STRING, not REFERENCE."#]
        ),
        (
            [.init(name: "a", type: .reference, isParent: true), .init(name: "b", type: .reference, isParent: true)],
            [#"The field "b" of T cannot point to a parent: "a" does so already."#]
        ),
        (
            [.init(name: "a", type: .string), .init(name: "a", type: .int64)],
            [#"Two fields of T have the name "a"."#]
        ),
        (
            [.init(name: "a", type: .string, formerNames: ["a"])],
            [#"The field "a" of T cannot have the former name "a": a field has it now."#]
        ),
        (
            [.init(name: "a", type: .string, formerNames: ["b"]), .init(name: "b", type: .string)],
            [#"The field "a" of T cannot have the former name "b": a field has it now."#]
        ),
        (
            [.init(name: "a", type: .string, formerNames: ["c"]), .init(name: "b", type: .string, formerNames: ["c"])],
            [#"The field "b" of T cannot have the former name "c": the field "a" has it as a former name."#]
        ),
        (
            [
                .init(name: "list", type: .reference, formerNames: ["folder"], isParent: true),
                .init(name: "count", type: .int64, isEncrypted: true, merge: .counter, formerNames: ["n", "number"]),
                .init(name: "tags", type: .stringList, merge: .union),
            ],
            []
        ),
    ])
    func aMistakeIsASentence(fields: [RecordSchema.Field], problems: [String]) {
        #expect(RecordSchema(recordType: "T", fields: fields).problems() == problems)
    }
}
