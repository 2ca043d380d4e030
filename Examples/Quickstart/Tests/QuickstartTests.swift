import Testing

@testable import Quickstart

struct QuickstartTests {
    @Test func findsTheNoteAsItWasChanged() async throws {
        #expect(try await Quickstart.notes() == ["Hello 5"])
    }
}
