import MistKit
import Testing

@testable import MistKitCLI

struct RecordMergeTests {
    /// The fields that a merge saves, and its conflicts. `a` is 1 at first, and 0 means that the field is missing.
    @Test(
        arguments: [
            // mine, theirs, prefer, the saved value, whether it is a conflict
            (1, 1, nil, nil, false),
            (2, 1, nil, 2, false),
            (1, 2, nil, nil, false),
            (2, 2, nil, nil, false),
            (2, 3, nil, nil, true),
            (2, 3, .mine, 2, false),
            (2, 3, .theirs, nil, false),
            (0, 1, nil, 0, false),
            (0, 2, nil, nil, true),
            (0, 2, .mine, 0, false),
            (2, 0, nil, nil, true),
            (0, 0, nil, nil, false),
        ] as [(Int, Int, RecordMerge.Side?, Int?, Bool)]
    )
    func bringsBothSidesTogether(
        mine: Int,
        theirs: Int,
        prefer: RecordMerge.Side?,
        saved: Int?,
        isConflict: Bool
    ) {
        func value(_ number: Int) -> FieldValue { number == 0 ? .null : .int64(Int64(number)) }
        func fields(_ number: Int) -> Record.Fields { number == 0 ? [:] : ["a": value(number)] }
        let merge = RecordMerge(base: fields(1), mine: fields(mine), theirs: fields(theirs), preferring: prefer)
        #expect(merge.changes == (saved.map { [.init(name: "a", value: value($0))] } ?? []))
        #expect(
            merge.conflicts == (isConflict ? [.init(name: "a", mine: value(mine), theirs: value(theirs))] : [])
        )
    }

    @Test func changesOfDifferentFieldsAreNoConflict() {
        let merge = RecordMerge(
            base: ["a": 1, "b": 1],
            mine: ["a": 2, "b": 1, "c": .encrypted("x")],
            theirs: ["a": 1, "b": 2]
        )
        #expect(merge.changes == [.init(name: "a", value: 2), .init(name: "c", value: .encrypted("x"))])
        #expect(merge.conflicts.isEmpty)
    }
}
