import Foundation
import HTTPTypes
import OpenAPISwiftRuntime
import Testing

struct ErrorDescriptionTests {

    private struct Unplugged: Error {}

    private let request = HTTPRequest(
        method: .get,
        scheme: nil,
        authority: nil,
        path: "/pets?token=secret",
        headerFields: [.authorization: "secret"]
    )

    @Test func aClientErrorTellsWhatFailedAndNoSecret() throws {
        let error = ClientError(
            operationID: "listPets",
            operationInput: "secret",
            request: request,
            baseURL: URL(string: "https://example.com/v1"),
            response: HTTPResponse(status: .badGateway),
            causeDescription: "the transport failed",
            underlyingError: Unplugged()
        )
        let text =
            "Client error: operation listPets: the transport failed: Unplugged() "
            + "(GET https://example.com/v1/pets, status 502)"
        #expect(error.description == text)
        #expect(error.localizedDescription == text)
    }

    @Test func aServerErrorTellsWhatFailedAndNoSecret() {
        let error = ServerError(
            operationID: "listPets",
            request: request,
            requestBody: nil,
            requestMetadata: .init(pathParameters: ["a": "secret"]),
            operationInput: "secret",
            causeDescription: "the handler failed",
            underlyingError: Unplugged()
        )
        #expect(error.description == "Server error: operation listPets: the handler failed: Unplugged() (GET /pets)")
    }
}
