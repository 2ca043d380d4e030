import Testing

/// This file imports only the test library. It compiles only if the most common task, reading a response, needs no
/// import of the runtime.
struct ResponsesWithoutImportTests {
    @Test func aResponseIsMadeAndReadInAFileThatDoesNotImportTheRuntime() throws {
        let note = Components.Schemas.Note(text: "milk")
        let output: Operations.failing.Output = .ok(.init(body: .json(note)))
        #expect(try output.ok.body.json.text == "milk")
        guard case .ok(let ok) = output, case .json(let value) = ok.body else {
            Issue.record("\(output) is another response")
            return
        }
        #expect(value == note)
    }
}
