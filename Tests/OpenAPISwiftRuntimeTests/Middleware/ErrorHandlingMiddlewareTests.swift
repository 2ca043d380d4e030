import HTTPTypes
import OpenAPISwiftRuntime
import Testing

struct ErrorHandlingMiddlewareTests {

    private struct Plain: Error {}

    private struct Bare: Error, HTTPResponseConvertible {
        var httpStatus: HTTPResponse.Status { .tooManyRequests }
    }

    private struct Full: Error, HTTPResponseConvertible {
        var httpStatus: HTTPResponse.Status { .serviceUnavailable }
        var httpHeaderFields: HTTPFields { [.retryAfter: "30"] }
        var httpBody: HTTPBody? { "later" }
    }

    @Test func anErrorThatKnowsItsResponseDecidesIt() async throws {
        let response = try await answer(to: Full())
        #expect(response.0 == HTTPResponse(status: .serviceUnavailable, headerFields: [.retryAfter: "30"]))
        #expect(response.1 == "later")
    }

    @Test func headerFieldsAndBodyAreEmptyByDefault() async throws {
        let response = try await answer(to: Bare())
        #expect(response == (HTTPResponse(status: .tooManyRequests), nil))
    }

    @Test func anyOtherErrorBecomesABare500() async throws {
        let response = try await answer(to: Plain())
        #expect(response == (HTTPResponse(status: .internalServerError), nil))
    }

    @Test func aServerErrorStandsForTheErrorInIt() async throws {
        #expect(try await answer(to: serverError(around: Bare())) == (HTTPResponse(status: .tooManyRequests), nil))
        #expect(try await answer(to: serverError(around: Plain())) == (HTTPResponse(status: .internalServerError), nil))
        let chosen = ServerError(
            operationID: "op",
            request: Self.request,
            requestBody: nil,
            requestMetadata: .init(),
            causeDescription: "chosen",
            underlyingError: Plain(),
            httpStatus: .conflict,
            httpHeaderFields: [:],
            httpBody: nil
        )
        #expect(try await answer(to: chosen) == (HTTPResponse(status: .conflict), nil))
    }

    @Test func aResponsePassesUntouched() async throws {
        let response = try await ErrorHandlingMiddleware().intercept(
            Self.request,
            body: nil,
            metadata: .init(),
            operationID: "op"
        ) { _, _, _ in (HTTPResponse(status: .created), nil) }
        #expect(response.0 == HTTPResponse(status: .created))
        #expect(response.1 == nil)
    }

    private static let request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/a?secret=1")

    private func serverError(around error: any Error) -> ServerError {
        ServerError(
            operationID: "op",
            request: Self.request,
            requestBody: nil,
            requestMetadata: .init(),
            causeDescription: "handling",
            underlyingError: error
        )
    }

    private func answer(to error: any Error) async throws -> (HTTPResponse, String?) {
        let (response, body) = try await ErrorHandlingMiddleware().intercept(
            Self.request,
            body: nil,
            metadata: .init(),
            operationID: "op"
        ) { _, _, _ in throw error }
        guard let body else { return (response, nil) }
        return (response, try await String(collecting: body, upTo: 100))
    }
}
