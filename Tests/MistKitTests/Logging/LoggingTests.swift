import HTTPTypes
import Logging
import MistTesting
import OpenAPISwiftRuntime
import TestSupport
import Testing

@testable import MistKit

struct LoggingTests {
    @Test func anAttemptIsOneLineAndItsEndAnother() async throws {
        let log = RecordedLog()
        let transport = FakeTransport([
            reply(.ok, "{}", headers: ["X-Apple-Request-UUID": "u1"]),
            reply(.notFound, #"{"serverErrorCode":"NOT_FOUND","uuid":"u2"}"#),
        ])
        _ = try await pipeline(log.logger(level: .trace)).send(body: "{}", over: transport)
        _ = try await pipeline(log.logger(level: .debug)).failure(body: "{}", over: transport)
        _ = try await pipeline(log.logger(level: .info)).failure(body: "{}", over: transport)
        #expect(
            log.lines == [
                """
                trace CloudKit request attempt=1 bytes=2 host=api.apple-cloudkit.com method=POST operation=queryRecords \
                path=/database/1/iCloud.com.example.app/development/public/records/query
                """,
                "debug CloudKit answered attempt=1 bytes=2 duration=0.000 s operation=queryRecords request=u1 status=200",
                """
                debug CloudKit request failed attempt=1 code=NOT_FOUND duration=0.000 s operation=queryRecords request=u2 \
                status=404
                """,
            ]
        )
    }

    private func pipeline(_ logger: Logger) -> TestPipeline {
        TestPipeline(
            tokenManager: APITokenManager(apiToken: String(repeating: "a0", count: 32)),
            retryPolicy: .never,
            logger: logger,
            clock: TestClock(skippingWaits: true).timer
        )
    }
}
