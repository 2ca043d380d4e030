import Testing

@testable import MistKit

/// The states of a sequence of pages, as a table.
struct PagingStateTests {
    typealias State = PagingState<String>

    struct Row: Sendable, CustomTestStringConvertible {
        var from: State
        var event: State.Event
        var looksAhead = true
        var to: State
        var effect: State.Effect

        var testDescription: String { "\(from) \(event) looksAhead=\(looksAhead)" }
    }

    @Test(arguments: [
        // The caller asks for a page.
        Row(from: .idle("a"), event: .asked, to: .awaited("a"), effect: .fetch("a")),
        Row(from: .ahead("a"), event: .asked, to: .awaited("a"), effect: .receive),
        Row(from: .stuck, event: .asked, to: .finished, effect: .failEndless),
        Row(from: .finished, event: .asked, to: .finished, effect: .end),
        // A page has arrived.
        Row(from: .awaited("a"), event: .arrived(announced: "b"), to: .reading("a", ahead: "b"), effect: .send("b")),
        Row(from: .awaited("a"), event: .arrived(announced: nil), to: .reading("a", ahead: nil), effect: .nothing),
        Row(from: .awaited("a"), event: .arrived(announced: "a"), to: .reading("a", ahead: nil), effect: .nothing),
        Row(
            from: .awaited("a"),
            event: .arrived(announced: "b"),
            looksAhead: false,
            to: .reading("a", ahead: nil),
            effect: .nothing
        ),
        // The page was read: the request for the next page is under way, or is sent now.
        Row(
            from: .reading("a", ahead: "b"),
            event: .read(next: "b", isEmpty: false),
            to: .ahead("b"),
            effect: .nothing
        ),
        Row(
            from: .reading("a", ahead: nil),
            event: .read(next: "b", isEmpty: true),
            to: .ahead("b"),
            effect: .send("b")
        ),
        Row(
            from: .reading("a", ahead: nil),
            event: .read(next: "b", isEmpty: false),
            looksAhead: false,
            to: .idle("b"),
            effect: .nothing
        ),
        // The next page does not begin at the announced marker.
        Row(
            from: .reading("a", ahead: "x"),
            event: .read(next: "b", isEmpty: false),
            to: .ahead("b"),
            effect: .send("b")
        ),
        Row(from: .reading("a", ahead: "x"), event: .read(next: nil, isEmpty: false), to: .finished, effect: .discard),
        // The last page, and a service that repeats its marker.
        Row(from: .reading("a", ahead: nil), event: .read(next: nil, isEmpty: true), to: .finished, effect: .discard),
        Row(from: .reading("a", ahead: nil), event: .read(next: "a", isEmpty: false), to: .stuck, effect: .discard),
        Row(
            from: .reading("a", ahead: nil),
            event: .read(next: "a", isEmpty: true),
            to: .finished,
            effect: .failEndless
        ),
        // Failures and impossible events end the sequence.
        Row(from: .awaited("a"), event: .failed, to: .finished, effect: .discard),
        Row(from: .reading("a", ahead: "b"), event: .failed, to: .finished, effect: .discard),
        Row(from: .finished, event: .failed, to: .finished, effect: .discard),
        Row(from: .awaited("a"), event: .asked, to: .finished, effect: .discard),
        Row(from: .idle("a"), event: .arrived(announced: "b"), to: .finished, effect: .discard),
    ])
    func eachEventLeadsToAStateAndAnEffect(row: Row) {
        var state = row.from
        #expect(state.handle(row.event, looksAhead: row.looksAhead) == row.effect)
        #expect(state == row.to)
    }
}
