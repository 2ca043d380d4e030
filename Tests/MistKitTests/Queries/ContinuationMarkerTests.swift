import Testing

@testable import MistKit

struct ContinuationMarkerTests {
    @Test(arguments: [
        (#"{"records":[],"continuationMarker":"m"}"#, "m"),
        ("{\n  \"records\" : [ ],\n  \"continuationMarker\" : \"m\"\n}\n", "m"),
        (#"{"continuationMarker":"m"}"#, "m"),
        (#"{"records":[],"continuationMarker":"a\/b\\"}"#, #"a/b\"#),
        (#"{"records":[],"continuationMarker":""}"#, ""),
        (#"{"records":[],"other\\":1,"continuationMarker":"m"}"#, "m"),
        (#"{"continuationMarker":"m","syncToken":"s"}"#, "m"),
        (#"{"continuationMarker":"m","records":[]}"#, "m"),
        (#"{"syncToken":"s","continuation\u004darker":"a\"b","records":[]}"#, #"a"b"#),
        // Markers that are not a member of the page itself, that are not at its edge, or that are not strings.
        (#"{"other":1,"continuationMarker":"m","records":[]}"#, nil),
        (#"{"records":[],"continuationMarker":"m","other":1}"#, nil),
        (#"{"records":[],"syncToken":"s"}"#, nil),
        (#"{"records":[],"other":{"continuationMarker":"m"}}"#, nil),
        (#"{"records":[],"other":"\"continuationMarker\":\"m"}"#, nil),
        (#"{"records":[],"a\"continuationMarker":"m"}"#, nil),
        (#"{"records":[],"continuationMarker":null}"#, nil),
        (#"{"records":[{"continuationMarker":"m"}]}"#, nil),
        (#"{"records":[],"continuationMarker":"m""#, nil),
        ("", nil),
    ])
    func aMarkerAtTheEdgeIsFoundWithoutReadingTheRecords(body: String, marker: String?) {
        #expect(continuationMarker(atEdgeOf: Array(body.utf8)[...]) == marker)
    }
}
