import BushelHistory
import BushelSources
import Foundation
import Testing

struct SourceAttemptTests {
    private let start = Date(timeIntervalSince1970: 1_730_073_600)
    private let request = Source(.ipswMe, at: "https://a.example/", kinds: [.images], parse: IPSWMe.parse)
    private let page = Source(
        .mrMacintosh,
        at: "https://b.example/",
        kinds: [.images],
        dating: .document,
        parse: MrMacintosh.parse
    )

    private func at(_ seconds: Double) -> Date { start.addingTimeInterval(seconds) }

    private func fetched(_ seconds: Double, etag: String = "1") -> SourceAttempt {
        SourceAttempt(
            request,
            at: at(seconds + 0.25),
            .fetched(.init(etag: etag, lastModified: "x", statedAt: at(seconds), releaseCount: 3, problemCount: 1))
        )
    }

    private func failed(_ seconds: Double, _ reason: String = "no") -> SourceAttempt {
        SourceAttempt(request, at: at(seconds), .failed(reason))
    }

    private func state(after attempts: SourceAttempt...) -> DataSource {
        var state = DataSource(.ipswMe, address: "https://a.example/")
        for attempt in attempts { attempt.apply(to: &state) }
        return state
    }

    @Test func aDocumentDescribesTheSource() {
        var expected = DataSource(.ipswMe, address: "https://a.example/")
        expected.lastAttempt = at(0)
        expected.lastSuccess = at(0)
        expected.lastDocument = at(0)
        expected.statedAt = at(0)
        expected.etag = "1"
        expected.lastModified = "x"
        expected.releaseCount = 3
        expected.problemCount = 1
        #expect(state(after: fetched(0)) == expected)
    }

    @Test func aFailureKeepsWhatIsKnown() {
        var expected = state(after: fetched(0))
        expected.lastAttempt = at(20)
        expected.lastError = "still no"
        expected.failureCount = 2
        // The next request gets the whole document.
        expected.etag = nil
        expected.lastModified = nil
        #expect(state(after: fetched(0), failed(10), failed(20, "still no")) == expected)
    }

    @Test func aSuccessEndsTheFailures() {
        let state = state(after: failed(0), failed(1), fetched(2))
        #expect(state.lastError == nil)
        #expect(state.failureCount == 0)
    }

    @Test func anUnchangedDocumentIsASuccess() {
        let unchanged = SourceAttempt(request, at: at(60), .notModified)
        var expected = state(after: fetched(0))
        expected.lastAttempt = at(60)
        expected.lastSuccess = at(60)
        expected.statedAt = at(60)
        #expect(state(after: fetched(0), unchanged) == expected)
    }

    @Test func anUnchangedPageSaysNothingNew() {
        var state = state(after: fetched(0))
        SourceAttempt(page, at: at(60), .notModified).apply(to: &state)
        #expect(state.statedAt == at(0))
        #expect(state.lastSuccess == at(60))
    }

    @Test func anOlderAttemptOfAnotherRunChangesLittle() {
        #expect(state(after: fetched(10, etag: "2"), fetched(0)) == state(after: fetched(10, etag: "2")))
        #expect(state(after: fetched(10), failed(0)) == state(after: fetched(10)))
        var expected = state(after: failed(10))
        expected.lastSuccess = at(0)
        #expect(state(after: failed(10), fetched(0)) == expected)
    }

    @Test func theSameAttemptCountsOnce() {
        #expect(state(after: failed(0), failed(0)) == state(after: failed(0)))
    }

    @Test func whatIsNotSavedIsFetchedAgain() {
        var state = state(after: fetched(0))
        fetched(10, etag: "2").apply(to: &state, keepingValidators: false)
        #expect(state.etag == nil)
        #expect(state.lastModified == nil)
        #expect(state.lastSuccess == at(10))
    }

    @Test func longReasonsAreShortened() {
        #expect(state(after: failed(0, String(repeating: "x", count: 400))).lastError?.count == 300)
    }
}
