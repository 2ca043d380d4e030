import CloudKitEmulator
import CloudKitModel
import Foundation
import TestSupport
import Testing

/// Compares the results of random queries over random records with an oracle: a few lines that look at every record.
struct QueryOracleTests {
    private struct Item {
        var name: String
        var n: Int64?
        var s: String?
        var l: [String]?

        var fields: Record.Fields {
            var fields: Record.Fields = [:]
            fields["n"] = n.map { .int64($0) } ?? .null
            fields["s"] = s.map { .string($0) } ?? .null
            fields["l"] = l.map { .stringList($0) } ?? .null
            return fields
        }
    }

    private static let letters = ["a", "ab", "abc", "b", "ba", "é", ""]

    private func randomItem(_ name: String, _ generator: inout SeededGenerator) -> Item {
        Item(
            name: name,
            n: Bool.random(using: &generator) ? Int64.random(in: -3...3, using: &generator) : nil,
            s: Bool.random(using: &generator) ? Self.letters.randomElement(using: &generator) : nil,
            l: Bool.random(using: &generator)
                ? (0..<Int.random(in: 0...3, using: &generator)).compactMap { _ in
                    Self.letters.randomElement(using: &generator)
                } : nil
        )
    }

    private func randomFilter(_ generator: inout SeededGenerator) -> (QueryFilter, (Item) -> Bool) {
        let number = Int64.random(in: -3...3, using: &generator)
        let word = Self.letters.randomElement(using: &generator) ?? ""
        let words = [word, Self.letters.randomElement(using: &generator) ?? ""]
        func hasNumber(_ test: @escaping (Int64) -> Bool) -> (Item) -> Bool { { $0.n.map(test) ?? false } }
        func hasText(_ test: @escaping (String) -> Bool) -> (Item) -> Bool { { $0.s.map(test) ?? false } }
        func hasList(_ test: @escaping ([String]) -> Bool) -> (Item) -> Bool { { $0.l.map(test) ?? false } }
        func folded(_ text: String) -> String { text == "é" ? "e" : text }
        func utf8(_ text: String) -> [UInt8] { Array(text.utf8) }
        switch Int.random(in: 0..<20, using: &generator) {
        case 0: return (QueryFilter("n", .equals, .int64(number)), hasNumber { $0 == number })
        case 1: return (QueryFilter("n", .notEquals, .int64(number)), hasNumber { $0 != number })
        case 2: return (QueryFilter("n", .lessThan, .int64(number)), hasNumber { $0 < number })
        case 3: return (QueryFilter("n", .greaterThanOrEquals, .int64(number)), hasNumber { $0 >= number })
        case 4: return (QueryFilter("s", .equals, .string(word)), hasText { $0 == word })
        case 5: return (QueryFilter("s", .beginsWith, .string(word)), hasText { utf8($0).starts(with: utf8(word)) })
        case 6: return (QueryFilter("s", .notBeginsWith, .string(word)), hasText { !utf8($0).starts(with: utf8(word)) })
        case 7:
            return (
                QueryFilter("s", .lessThanOrEquals, .string(word)),
                hasText { !utf8(word).lexicographicallyPrecedes(utf8($0)) }
            )
        case 8: return (QueryFilter("s", .in, .stringList(words)), hasText { words.contains($0) })
        case 9: return (QueryFilter("s", .notIn, .stringList(words)), hasText { !words.contains($0) })
        case 10: return (QueryFilter("l", .listContains, .string(word)), hasList { $0.contains(word) })
        case 11: return (QueryFilter("l", .notListContains, .string(word)), hasList { !$0.contains(word) })
        case 12:
            return (
                QueryFilter("l", .listContainsAny, .stringList(words)), hasList { !Set($0).isDisjoint(with: words) }
            )
        case 13:
            return (QueryFilter("l", .listContainsAll, .stringList(words)), hasList { Set($0).isSuperset(of: words) })
        case 14:
            return (
                QueryFilter("l", .listMemberBeginsWith, .string(word)),
                hasList { $0.contains { utf8($0).starts(with: utf8(word)) } }
            )
        case 15 where !word.isEmpty:
            let filter = QueryFilter("s", .containsAllTokens, .string(words.joined(separator: " ")))
            return (filter, hasText { text in words.allSatisfy { $0.isEmpty || folded($0) == folded(text) } })
        case 16 where !word.isEmpty:
            let filter = QueryFilter("s", .containsAnyTokens, .string(words.joined(separator: "-")))
            return (filter, hasText { text in !text.isEmpty && words.contains { folded($0) == folded(text) } })
        case 17 where !word.isEmpty:
            let filter = QueryFilter(comparator: .containsAnyTokens, fieldValue: .string(word))
            return (filter, hasText { folded(word) == folded($0) })
        default: return (QueryFilter("n", .in, .int64List([number, 0])), hasNumber { $0 == number || $0 == 0 })
        }
    }

    @Test(arguments: [1, 2, 3, UInt64.random(in: 4 ... .max)])
    func theEmulatorAgreesWithTheOracle(seed: UInt64) throws {
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let world = try World()
        var items: [Item] = []
        for index in 0..<60 {
            let item = randomItem("r\(index)", &generator)
            items.append(item)
            try world.modify(.note(.create, item.name, item.fields))
        }
        // Each field has its type before a query uses it.
        let typed: Record.Fields = ["n": 0, "s": "", "l": .stringList([])]
        try world.modify(.note(.create, "typed", typed), .note(.create, "gone", typed))
        try world.modify(.note(.forceDelete, "gone"))
        items.append(Item(name: "typed", n: 0, s: "", l: []))
        for _ in 0..<30 {
            let index = Int.random(in: 0..<60, using: &generator)
            items[index] = randomItem(items[index].name, &generator)
            try world.modify(.note(.forceReplace, items[index].name, items[index].fields))
        }

        for _ in 0..<100 {
            let filters = (0..<Int.random(in: 0...3, using: &generator)).map { _ in randomFilter(&generator) }
            var sorts: [QuerySort] = []
            for field in ["n", "s"].shuffled(using: &generator).prefix(Int.random(in: 0...2, using: &generator)) {
                sorts.append(QuerySort(field, ascending: Bool.random(using: &generator)))
            }
            let query = RecordQuery(recordType: "Note", filters: filters.map(\.0), sorts: sorts)
            let expected = items.enumerated().filter { item in filters.allSatisfy { $0.1(item.element) } }
            let limit = Int.random(in: 4...40, using: &generator)
            var found: [String] = []
            var marker: String?
            repeat {
                let page = try world.asAnn().queryRecords(
                    query,
                    zoneID: World.notes,
                    resultsLimit: limit,
                    continuationMarker: marker
                )
                found += page.records.map { $0.itemID ?? "?" }
                marker = page.continuationMarker
            } while marker != nil
            #expect(found.sorted() == expected.map(\.element.name).sorted(), "seed \(seed), \(text(query))")
            guard !sorts.isEmpty else { continue }
            let sorted = expected.sorted { precedes($0, $1, sorts) }.map(\.element.name)
            #expect(found == sorted, "seed \(seed), \(text(query))")
        }
    }

    private func precedes(
        _ left: EnumeratedSequence<[Item]>.Element,
        _ right: EnumeratedSequence<[Item]>.Element,
        _ sorts: [QuerySort]
    ) -> Bool {
        for sort in sorts {
            let order: Int
            if sort.fieldName == "n" {
                order = compare(left.element.n, right.element.n) { $0 < $1 }
            } else {
                order = compare(left.element.s, right.element.s) { Array($0.utf8).lexicographicallyPrecedes($1.utf8) }
            }
            if order != 0 { return (order < 0) == sort.ascending }
        }
        return (left.offset < right.offset) == (sorts.first?.ascending ?? true)
    }

    private func compare<Value>(_ left: Value?, _ right: Value?, _ precedes: (Value, Value) -> Bool) -> Int {
        switch (left, right) {
        case (nil, nil): 0
        case (nil, _): -1
        case (_, nil): 1
        case (let left?, let right?): precedes(left, right) ? -1 : precedes(right, left) ? 1 : 0
        }
    }
}
