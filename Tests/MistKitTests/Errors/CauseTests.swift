import Foundation
import HTTPTypes
import Logging
import MistTesting
import OpenAPISwiftRuntime
import TestSupport
import Testing

@testable import MistKit

struct CauseTests {
    private struct OwnMiddleware: ClientMiddleware {
        struct Failure: Error {}

        var seen = RecordedLog()
        var fails = false

        func intercept(
            _ request: HTTPRequest,
            body: HTTPBody?,
            baseURL: URL,
            operationID: String,
            next: Next
        ) async throws -> (HTTPResponse, HTTPBody?) {
            if fails { throw Failure() }
            seen.logger().info("\(request.path ?? "")")
            do {
                return try await next(request, body, baseURL)
            } catch {
                let cause = (error as? ClientError)?.underlyingError as? CloudKitError
                seen.logger().info("\(cause?.code.description ?? "no CloudKitError")")
                throw error
            }
        }
    }

    @Test func aCustomMiddlewareSeesEachRequestOnceWithoutCredentials() async throws {
        let own = OwnMiddleware()
        let transport = FakeTransport([
            reply(.tooManyRequests, #"{"serverErrorCode":"THROTTLED"}"#),
            reply(.badRequest, #"{"serverErrorCode":"BAD_REQUEST"}"#),
        ])
        let error = try await failure {
            try await service(transport, own).publicDatabase.fetch("a")
        }
        #expect(error.code == .badRequest)
        #expect(own.seen.lines == ["info /database/1/c/development/public/records/lookup", "info BAD_REQUEST"])
    }

    @Test func errorsOfACallersMiddlewareAreTheCause() async throws {
        let transport = FakeTransport([reply()])
        let error = try await failure {
            try await service(transport, OwnMiddleware(fails: true)).publicDatabase.fetch("a")
        }
        #expect(error.code == .middleware)
        #expect(error.cause is OwnMiddleware.Failure)
        #expect(error.operation == "lookupRecords")
    }

    @Test func aTransportsErrorIsSaidOnce() async throws {
        struct Refused: Error {}
        let transport = FakeTransport { _, _ in
            throw TransportError(
                code: .connectionFailed,
                message: "Could not connect to localhost:1.",
                cause: Refused()
            )
        }
        let error = try await failure {
            try await fakeService(transport).publicDatabase.fetch("a")
        }
        #expect(
            error.localizedDescription == """
                network in lookupRecords: Could not connect to localhost:1. Nothing was sent. Underneath: Refused()
                """
        )
    }

    private func service(_ transport: FakeTransport, _ middleware: OwnMiddleware) -> CloudKitService {
        var configuration = CloudKitService.Configuration(transport: transport, logger: RecordedLog().logger())
        configuration.middlewares = [middleware]
        configuration.clock = TestClock(skippingWaits: true).timer
        return CloudKitService(
            containerIdentifier: "c",
            tokenManager: APITokenManager(apiToken: "0123"),
            configuration: configuration
        )
    }
}
