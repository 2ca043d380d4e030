import ExampleTesting
import Testing

@testable import PeatedOffline

struct FeedListTests {
    /// A list from a text: `t3 t2 (c) t1` has a gap with the cursor `c`.
    private func list(_ text: String) -> FeedList {
        FeedList(
            text.split(separator: " ").map { word in
                word.hasPrefix("(") ? .gap(String(word.dropFirst().dropLast())) : .tasting(String(word))
            }
        )
    }

    @Test(
        arguments: [
            // What this machine has, the page, its cursor, where it belongs, and the result.
            ("", "c b", "b", "", "c b (b)"),
            ("", "b a", nil, "", "b a"),
            ("", "", nil, "", ""),
            // A refresh meets what is known: nothing is twice, and no gap is made.
            ("c b (b)", "d c", "c", "", "d c b (b)"),
            ("c b (b)", "c b", "b", "", "c b (b)"),
            ("c b (b)", "e d c b", "b", "", "e d c b (b)"),
            // A refresh does not meet it: the gap is known.
            ("b a", "f e", "e", "", "f e (e) b a"),
            ("f e (e) b a", "d c", "c", "e", "f e d c (c) b a"),
            ("f e (e) b a", "d c b", "b", "e", "f e d c b a"),
            // A page that ends just above what is known leaves the gap, since it cannot know that.
            ("f e (c) b a", "", "b", "c", "f e (b) b a"),
            // A page passes over a gap into what is below it.
            ("f (f) d (d) b a", "e d c b", "b", "f", "f e d c b a"),
            // A page goes on after what was known.
            ("f (f) d (d)", "e d c", "c", "f", "f e d c (c)"),
            ("f (f) d", "e d c", "c", "f", "f e d c (c)"),
            ("f (f) d a", "e d c", "c", "f", "f e d c (c) a"),
            // Tastings that were deleted at the service.
            ("e d c b a", "e c", "c", "", "e c b a"),
            ("d c (c) a", "a", nil, "c", "d c a"),
            ("d (d) b a", "c", nil, "d", "d c"),
            ("c b a", "", nil, "", ""),
            // A service whose pages move when a tasting is added sends some twice.
            ("d c (2)", "c b", "4", "2", "d c b (4)"),
            ("d c (2)", "d c", "4", "2", "d c (4)"),
            // A cursor that does not move ends the gap instead of being asked for again and again.
            ("d c (x)", "", "x", "x", "d c"),
            // Another page has filled the gap.
            ("d c b", "c b", "b", "gone", "d c b"),
        ] as [(String, String, String?, String, String)]
    )
    func aPageIsAdded(before: String, page: String, next: String?, gap: String, after: String) {
        let ids = page.split(separator: " ").map(String.init)
        let result = list(before).adding(ids, next: next, at: gap.isEmpty ? .top : .gap(gap))
        #expect(result == list(after))
    }

    @Test(arguments: UInt64(1)...60)
    func nothingIsMissedOrTwice(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        // The tastings of the service, the newest first. A cursor is the last one of the page before.
        var service = Array((1...30).reversed())
        var newest = 30
        var deleted: Set<Int> = []
        var known = FeedList()
        func page(below cursor: Int, _ size: Int) -> (ids: [String], next: String?) {
            let rest = service.filter { $0 < cursor }
            let page = rest.prefix(size)
            return (page.map { "\($0)" }, page.count < rest.count ? page.last.map { "\($0)" } : nil)
        }
        func fetch(_ position: FeedList.Position) {
            let cursor = if case .gap(let gap) = position { Int(gap) ?? 0 } else { Int.max }
            let fetched = page(below: cursor, Int.random(in: 1...7, using: &random))
            known = known.adding(fetched.ids, next: fetched.next, at: position)
        }
        for _ in 0..<40 {
            switch Int.random(in: 0..<5, using: &random) {
            case 0:
                for _ in 0..<Int.random(in: 1...12, using: &random) {
                    newest += 1
                    service.insert(newest, at: 0)
                }
            case 1:
                guard let index = service.indices.randomElement(using: &random) else { continue }
                deleted.insert(service.remove(at: index))
            case 2: fetch(.top)
            default: if let gap = known.gaps.randomElement(using: &random) { fetch(.gap(gap)) }
            }
            let ids = known.tastings.compactMap { Int($0) }
            #expect(Set(ids).count == ids.count && ids == ids.sorted(by: >), "seed \(seed): \(known.items)")
            for (item, below) in zip(known.items, known.items.dropFirst()) {
                guard case .tasting(let upper) = item, case .tasting(let lower) = below else { continue }
                let between = service.filter { $0 < Int(upper) ?? 0 && $0 > Int(lower) ?? 0 }
                #expect(between.isEmpty, "seed \(seed): \(between) are missing between \(upper) and \(lower)")
            }
        }
        fetch(.top)
        while let gap = known.gaps.first { fetch(.gap(gap)) }
        #expect(known.tastings.compactMap { Int($0) }.filter { !deleted.contains($0) } == service, "seed \(seed)")
    }

    @Test func rowsGetNumbersBetweenTheirNeighbours() {
        let step = FeedRanks.step
        #expect(FeedRanks.between(nil, nil, count: 3) == [0, step, 2 * step])
        #expect(FeedRanks.between(nil, 0, count: 2) == [-2 * step, -step])
        #expect(FeedRanks.between(5, nil, count: 2) == [5 + step, 5 + 2 * step])
        #expect(FeedRanks.between(0, 30, count: 2) == [10, 20])
        #expect(FeedRanks.between(0, 3, count: 2) == [1, 2])
        #expect(FeedRanks.between(0, 2, count: 2) == nil)
        #expect(FeedRanks.between(0, 1, count: 0) == [])
    }
}
