import Testing

@testable import CelestraServing

struct EntityTagTests {
    @Test(
        arguments: [
            ("\"a\"", true), ("W/\"a\"", true), ("\"b\"", false), ("*", true), (" * ", true), ("\"b\", \"a\"", true),
            ("\"b\",W/\"a\"", true), ("\"b\" , \"c\"", false), ("\"x, y\", \"a\"", true), ("\"x, \"a\"", false),
            ("a", false),
            ("", false), ("\"a", false), ("\"b\" \"a\"", false), ("w/\"a\"", false), ("\"A\"", false),
            ("\"b\",,\"a\"", false),
        ]
    )
    func whatIfNoneMatchLists(field: String, isListed: Bool) {
        #expect(EntityTag("a").isListed(in: field) == isListed)
        #expect(EntityTag("a", isWeak: true).isListed(in: field) == isListed)
    }

    @Test func tagsFollowFromBytes() {
        #expect(EntityTag(of: Array("abc".utf8)).description == "\"ba7816bf8f01cfea414140de\"")
        #expect(EntityTag(of: Array("abc".utf8), isWeak: true).description == "W/\"ba7816bf8f01cfea414140de\"")
        #expect(EntityTag(of: []) != EntityTag(of: [0]))
    }
}
