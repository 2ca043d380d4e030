import Testing

@testable import WebText

struct URLReferenceTests {
    // RFC 3986, sections 5.4.1 and 5.4.2.
    @Test(arguments: [
        ("g:h", "g:h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"), ("g?y#s", "http://a/b/c/g?y#s"), (";x", "http://a/b/c/;x"),
        ("g;x", "http://a/b/c/g;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y#s"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"),
        ("../../", "http://a/"),
        ("../../g", "http://a/g"), ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."),
        ("..g", "http://a/b/c/..g"), ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"),
        ("g/./h", "http://a/b/c/g/h"),
        ("g/../h", "http://a/b/c/h"), ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/./x", "http://a/b/c/g?y/./x"), ("g#s/../x", "http://a/b/c/g#s/../x"), ("http:g", "http:g"),
    ])
    func referencesResolveAsTheStandardSays(reference: String, address: String) {
        #expect(URLReference.resolve(reference, against: "http://a/b/c/d;p?q") == address)
    }

    @Test(arguments: [
        ("a", nil, "a"), ("a", "b", "a"), (" /a\n", "http://b", "http://b/a"), ("a", "http://b", "http://b/a"),
        ("/a\n b", "http://c/", "http://c/a b"), ("mailto:a@b", "http://c/", "mailto:a@b"),
        ("À", "http://c/d", "http://c/À"),
        ("?a", "http://b", "http://b?a"), ("1:2", "http://b/", "http://b/1:2"),
    ])
    func otherReferences(reference: String, base: String?, address: String) {
        #expect(URLReference.resolve(reference, against: base) == address)
    }

    @Test(arguments: [
        ("test/", "http://a/", "http://a/test/"), ("http:///b/c", "http://a/", "http://b/c"),
        ("javascript:x", "http://a/", "http://a/"),
        ("", "http://a/b", "http://a/b"), ("https://b/", nil, "https://b/"), ("b/", nil, nil),
    ])
    func anAttributeChangesTheBase(attribute: String, base: String?, result: String?) {
        #expect(URLReference.base(attribute, within: base) == result)
    }

    @Test(arguments: [
        ("http://a/", true), ("HTTPS://a", true), ("http://", false), ("a", false), ("tag:a,2004:b", false),
        ("http://a b/", false),
    ])
    func webAddressesAreKnown(text: String, isAddress: Bool) {
        #expect(URLReference.isWebAddress(text) == isAddress)
    }
}
