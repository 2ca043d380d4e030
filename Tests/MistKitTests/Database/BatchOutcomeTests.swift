import MistKit
import Testing

/// The results of a batch as one value or one error.
struct BatchOutcomeTests {
    private static func failed(_ code: CloudKitError.Code, _ name: String) -> Result<String, CloudKitError> {
        var error = CloudKitError(code: code, message: "No.")
        error.item = .record(name: name)
        return .failure(error)
    }

    @Test func valuesAndErrorsKeepTheirOrder() throws {
        let results = [.success("a"), Self.failed(.conflict, "b"), .success("c"), Self.failed(.accessDenied, "d")]
        let (successes, failures) = results.partitioned()
        #expect(successes == ["a", "c"])
        #expect(failures.map(\.code) == [.conflict, .accessDenied])
        let complete: [Result<String, CloudKitError>] = [.success("a"), .success("b")]
        let values = try complete.allOrThrow()
        #expect(values == ["a", "b"])
        let none = try [Result<String, CloudKitError>]().allOrThrow()
        #expect(none.isEmpty)
    }

    @Test(arguments: [
        (
            [.success("a"), failed(.conflict, "b"), failed(.accessDenied, "c")], "CONFLICT b",
            "No. (2 of the 3 items of the batch failed.)"
        ),
        (
            [failed(.atomicError, "a"), failed(.accessDenied, "b")], "ACCESS_DENIED b",
            "No. (2 of the 2 items of the batch failed.)"
        ),
        (
            [failed(.cancelled, "a"), failed(.outcomeUnknown, "b")], "outcomeUnknown b",
            "No. (2 of the 2 items of the batch failed.)"
        ),
        ([failed(.cancelled, "a")], "cancelled a", "No."),
    ])
    func theErrorThatIsThrownIsTheCause(
        results: [Result<String, CloudKitError>],
        expected: String,
        message: String
    ) throws {
        let error = try #require(#expect(throws: CloudKitError.self) { try results.allOrThrow() })
        #expect(summary(Result<String, CloudKitError>.failure(error)) == expected)
        #expect(error.message == message)
    }
}
