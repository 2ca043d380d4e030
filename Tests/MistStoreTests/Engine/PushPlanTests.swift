import Testing

@testable import MistStore

/// The operations of one request, and the retry after an atomic failure.
struct PushPlanTests {
    /// Candidates by a short text: `+s` is created, `+b<s` created below `s`, `+b>x` created with a link to `x`, `u`
    /// updated.
    private static func candidates(_ text: String) -> [PushCandidate] {
        text.split(separator: " ").map { word in
            let isCreate = word.hasPrefix("+")
            let parts = word.drop { $0 == "+" }.split(separator: ">")
            let names = parts[0].split(separator: "<").map(String.init)
            let parent = names.count > 1 ? names[1] : nil
            let links = parts.dropFirst().map(String.init) + (parent.map { [$0] } ?? [])
            return PushCandidate(name: names[0], isCreate: isCreate, parent: parent, targets: Set(links), size: 10)
        }
    }

    @Test(
        "Families go first and whole, in one atomic request with their targets; then everything else",
        arguments: [
            ("", 9, 900, "", false),
            ("u +a +b v", 9, 900, "u a b v", false),
            // A parent with its child, and other records.
            ("u +s +b<s +x", 9, 900, "s b", true),
            // Several families, which are a parent with its children.
            ("+s +b<s u +t +c<t +d<t", 9, 900, "s b t c d", true),
            // A child of a record that the service has, and a child of one that does not exist anywhere.
            ("s +b<s +c<gone", 9, 900, "s b c", false),
            // Grandchildren.
            ("+s +t<s +b<t", 9, 900, "s t b", true),
            // A family includes the records that it refers to, directly or indirectly, but not the records that refer
            // to it.
            ("+y +x>y +s +b<s>x +z>b", 9, 900, "y x s b", true),
            // A family that does not fit after another one waits.
            ("+s +b<s +t +c<t +d<t", 4, 900, "s b", true),
            ("+s +b<s +t +c<t +d<t", 5, 900, "s b t c d", true),
            ("+s +b<s +t +c<t +d<t", 9, 45, "s b", true),
            // A family that is too large is sent in parts, parents first.
            ("+s +b<s +c<s +d<s", 2, 900, "s b", true),
            ("+s +b<s +c<s +d<s", 9, 35, "s b c", true),
            ("+s +b<s", 1, 900, "s", false),
            // The members of several families, mixed.
            ("+s +t +b<s +c<t +v +d<v", 5, 900, "s t b c", true),
            // An operation that is larger than a request is sent alone.
            ("+a +b", 9, 5, "a", false),
            ("+a +b +c", 2, 900, "a b", false), ("+a +b +c", 0, 900, "a", false),
        ]
    )
    func familiesAreSentFirstAndWhole(text: String, count: Int, bytes: Int, chosen: String, isAtomic: Bool) {
        let candidates = Self.candidates(text)
        let plan = PushPlan(candidates, \.self, count: count, bytes: bytes, mayBeAtomic: true)
        #expect(plan.chosen.map(\.name) == chosen.split(separator: " ").map(String.init))
        #expect(plan.isAtomic == isAtomic)
    }

    @Test("Without atomic requests, operations keep their order")
    func plansWithoutAtomicRequests() {
        let plan = PushPlan(Self.candidates("u +s +b<s +x"), \.self, count: 3, bytes: 900, mayBeAtomic: false)
        #expect(plan.chosen.map(\.name) == ["u", "s", "b"])
        #expect(!plan.isAtomic)
    }

    @Test(
        "An atomic failure is sent again without what was to blame; without blame, apart; in no circle",
        arguments: [
            ([], true, nil), ([.acknowledged], true, nil), ([.park], true, nil),
            ([.again, .park], true, .again), ([.again, .lookUp], true, .again), ([.again, .later], true, .again),
            ([.again], true, .apart), ([.again, .acknowledged], true, .apart),
            ([.again], false, .later), ([.again, .acknowledged], false, .later), ([.again, .park], false, .again),
        ] as [([ItemOutcome], Bool, AtomicRetry?)]
    )
    func atomicFailuresAreRetriedWithoutTheItemToBlame(outcomes: [ItemOutcome], isAtomic: Bool, retry: AtomicRetry?) {
        #expect(AtomicRetry.of(outcomes, isAtomic: isAtomic) == retry)
    }
}
