import HTTPTypes
import Testing

@testable import MistKit

/// The next states of the items of a request, as a table.
struct BatchDecisionTests {
    typealias Decision = BatchDecision<String>

    /// An item: `r` may be repeated, `d` is in doubt, and `m` was done if it is refused with a conflict.
    private static func item(_ text: Character) -> Decision.Item {
        switch text {
        case "r": Decision.Item(mayRepeat: true)
        case "d": Decision.Item(isInDoubt: true, mayRepeat: true)
        case "m": Decision.Item(isInDoubt: true, mayRepeat: true, mayMeanDone: { $0.code == .conflict })
        default: Decision.Item(mayRepeat: false)
        }
    }

    private static func error(_ name: String) -> CloudKitError {
        switch name {
        case "throttled": CloudKitError(code: .throttled, message: "")
        case "lost": CloudKitError(code: .network, message: "")
        case "conflict": CloudKitError(code: .conflict, message: "")
        case "large": CloudKitError(code: .limitExceeded, message: "")
        case "cancelled": CloudKitError(code: .cancelled, message: "")
        default: CloudKitError(code: .badRequest, message: "")
        }
    }

    private static func describe(_ state: Decision.ItemState) -> String {
        switch state {
        case .finished(.success(let value)): value
        case .finished(.failure(let error)): "\(error.code)\(error.mayHaveBeenDone ? "?" : "")"
        case .toSend(let isInDoubt): isInDoubt ? "again?" : "again"
        case .toVerify(let error): "verify \(error.code)"
        }
    }

    private static func describe(_ next: Decision.Next) -> String {
        switch next {
        case .goOn(after: nil): "done"
        case .goOn(after: let wait?): "wait \(wait.duration.components.seconds) \(wait.error.code)"
        case .stop(let error): "stop \(error.code)"
        case .split: "split"
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        /// One letter for each item.
        var items: String
        /// `failed x`, or a result for each item: `ok` or an error.
        var outcome: String
        var isAtomic = false
        var isWrite = true
        /// Whether the retry policy allows another attempt.
        var hasAttempts = true
        var states: String
        var next: String

        var testDescription: String { "\(items) \(outcome) atomic=\(isAtomic) write=\(isWrite)" }
    }

    @Test(arguments: [
        // A response with a result for each item.
        Row(items: "rr", outcome: "ok ok", states: "ok, ok", next: "done"),
        Row(items: "rr", outcome: "ok bad", states: "ok, BAD_REQUEST", next: "done"),
        Row(items: "rr", outcome: "ok throttled", states: "ok, again", next: "wait 2 THROTTLED"),
        Row(items: "rr", outcome: "lost throttled", states: "again?, again", next: "wait 2 THROTTLED"),
        Row(items: "-r", outcome: "lost ok", states: "network?, ok", next: "done"),
        Row(items: "-", outcome: "throttled", states: "again", next: "wait 2 THROTTLED"),
        Row(items: "r", outcome: "throttled", hasAttempts: false, states: "THROTTLED", next: "done"),
        Row(items: "r", outcome: "lost", isWrite: false, hasAttempts: false, states: "network", next: "done"),
        // After a lost response, a refusal may mean that the first request was done, and other failures leave that
        // open.
        Row(items: "mr", outcome: "conflict conflict", states: "verify CONFLICT, CONFLICT", next: "done"),
        Row(items: "md", outcome: "bad bad", states: "BAD_REQUEST?, BAD_REQUEST?", next: "done"),
        Row(items: "d", outcome: "throttled", states: "again?", next: "wait 2 THROTTLED"),
        // An atomic batch is done as a whole or not at all.
        Row(items: "rr", outcome: "ok throttled", isAtomic: true, states: "again, again", next: "wait 2 THROTTLED"),
        Row(items: "rd", outcome: "throttled bad", isAtomic: true, states: "again, again?", next: "wait 2 THROTTLED"),
        Row(items: "rr", outcome: "lost bad", isAtomic: true, states: "network?, BAD_REQUEST", next: "done"),
        Row(
            items: "rr",
            outcome: "throttled bad",
            isAtomic: true,
            hasAttempts: false,
            states: "THROTTLED, BAD_REQUEST",
            next: "done"
        ),
        // A request that failed as a whole.
        Row(items: "rr", outcome: "failed lost", states: "again?, again?", next: "wait 1 network"),
        Row(items: "r-", outcome: "failed lost", states: "again?, network", next: "wait 1 network"),
        Row(items: "d-", outcome: "failed lost", hasAttempts: false, states: "network?, network", next: "stop network"),
        Row(items: "r-", outcome: "failed lost", isAtomic: true, states: "network, network", next: "stop network"),
        Row(items: "--", outcome: "failed lost", states: "network, network", next: "stop network"),
        Row(items: "rr", outcome: "failed lost", isWrite: false, states: "network, network", next: "stop network"),
        Row(items: "rd", outcome: "failed bad", states: "BAD_REQUEST, BAD_REQUEST?", next: "stop BAD_REQUEST"),
        Row(items: "rd", outcome: "failed cancelled", states: "cancelled, outcomeUnknown?", next: "stop cancelled"),
        // A request that is too large.
        Row(items: "rd", outcome: "failed large", states: "again, again?", next: "split"),
        Row(
            items: "rr",
            outcome: "failed large",
            isAtomic: true,
            states: "LIMIT_EXCEEDED, LIMIT_EXCEEDED",
            next: "stop LIMIT_EXCEEDED"
        ),
        Row(items: "r", outcome: "failed large", states: "LIMIT_EXCEEDED", next: "stop LIMIT_EXCEEDED"),
    ])
    func eachOutcomeLeadsToStatesAndANextStep(row: Row) {
        let words = row.outcome.split(separator: " ").map(String.init)
        let outcome: Decision.Outcome =
            words[0] == "failed"
            ? .failed(Self.error(words[1]))
            : .answered(words.map { $0 == "ok" ? .success("ok") : .failure(Self.error($0)) })
        let decision = Decision(
            outcome,
            of: row.items.map(Self.item),
            isAtomic: row.isAtomic,
            isWrite: row.isWrite
        ) { row.hasAttempts ? .seconds($0.code == .throttled ? 2 : 1) : nil }
        #expect(decision.items.map(Self.describe).joined(separator: ", ") == row.states)
        #expect(Self.describe(decision.next) == row.next)
    }

    @Test(arguments: [
        // The records of the service for two refused items, whether all records were found, and whether the batch is
        // atomic.
        (["a", "b"], true, true, "a, b"),
        (["a", nil], true, true, "CONFLICT, CONFLICT"),
        (["a", "b"], false, true, "CONFLICT, CONFLICT"),
        (["a", nil], false, false, "a, CONFLICT"),
    ])
    func anItemThatWasRefusedSucceedsIfTheServiceHasIt(
        found: [String?],
        isWhole: Bool,
        isAtomic: Bool,
        expected: String
    ) {
        let results = Decision.results(
            verifying: [Self.error("conflict"), Self.error("conflict")],
            found: found,
            isWhole: isWhole,
            isAtomic: isAtomic
        )
        #expect(results.map { Self.describe(.finished($0)) }.joined(separator: ", ") == expected)
    }
}
