import Foundation
import Logging
import MistTesting
import Synchronization
import Testing

@testable import LambdaRuntime

/// The runtime loop against a runtime interface on this machine.
@Suite(.timeLimit(.minutes(5)))
struct LambdaRuntimeTests {
    /// A logger that writes nothing.
    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Runs a program until the interface ends it.
    private func run(
        _ interface: FakeRuntimeInterface,
        now: @escaping @Sendable () -> Date = { Date() },
        timer: any Clock<Duration> = ContinuousClock(),
        setTraceID: @escaping @Sendable (String?) -> Void = { _ in },
        handler: @escaping LambdaRuntime.Handler
    ) async throws -> RuntimeFailure? {
        try await interface.serve { address in
            let runtime = try LambdaRuntime(
                environment: ["AWS_LAMBDA_RUNTIME_API": address],
                logger: LambdaRuntimeTests.quiet,
                now: now,
                timer: timer,
                setTraceID: setTraceID
            )
            return await #expect(throws: RuntimeFailure.self) { try await runtime.run { handler } }
        }
    }

    @Test func eventsAreHandledOneAfterTheOther() async throws {
        let interface = FakeRuntimeInterface(next: [
            .event("\"a\"", id: "1", headers: ["Lambda-Runtime-Trace-Id": "Root=1-a"]), .event("\"b\"", id: "2"),
            .event("\"c\"", id: "3", headers: ["Lambda-Runtime-Trace-Id": "Root=1-c"]),
        ])
        let traces = Mutex<[String?]>([])
        let invocations = Mutex<[Invocation]>([])
        let setTraceID: @Sendable (String?) -> Void = { id in traces.withLock { $0.append(id) } }
        let end = try await run(interface, setTraceID: setTraceID) { invocation in
            invocations.withLock { $0.append(invocation) }
            return invocation.event + Array("!".utf8)
        }
        let expected: [FakeRuntimeInterface.Report] = [
            .init("/invocation/1/response", "\"a\"!"), .init("/invocation/2/response", "\"b\"!"),
            .init("/invocation/3/response", "\"c\"!"),
        ]
        #expect(interface.reports == expected)
        #expect(traces.withLock { $0 } == ["Root=1-a", nil, "Root=1-c"])
        let first = invocations.withLock { $0.first }
        #expect(first?.deadline == Date(timeIntervalSince1970: 4_102_444_800))
        #expect(first?.functionARN == "arn:aws:lambda:us-east-2:123456789012:function:celestra")
        #expect(end?.description.hasSuffix("status 500. It says: the test is over") == true)
    }

    @Test func theTraceIsInTheEnvironmentWhileTheFunctionRuns() {
        LambdaRuntime.setEnvironmentTraceID("Root=1-5bef4de7")
        #expect(ProcessInfo.processInfo.environment["_X_AMZN_TRACE_ID"] == "Root=1-5bef4de7")
        LambdaRuntime.setEnvironmentTraceID(nil)
        #expect(ProcessInfo.processInfo.environment["_X_AMZN_TRACE_ID"] == nil)
    }

    @Test func aFunctionThatFailsIsReportedAndTheProgramGoesOn() async throws {
        struct Broken: Error, CustomStringConvertible {
            var description: String { "no ink" }
        }
        let interface = FakeRuntimeInterface(next: [
            .event("1", id: "a"), .event("2", id: "b"), .event("{", id: "c"), .event("4", id: "d"),
        ])
        _ = try await run(interface) { invocation in
            switch invocation.requestID {
            case "a": throw Broken()
            case "b": throw FunctionError("Celestra.NotSaved", "full")
            default: return Array("\(try invocation.decode(Int.self))".utf8)
            }
        }
        let reports = interface.reports
        #expect(
            reports.map(\.path).map { $0.split(separator: "/").suffix(2).joined(separator: "/") } == [
                "a/error", "b/error", "c/error", "d/response",
            ]
        )
        #expect(reports.map(\.errorType) == ["Function.Broken", "Celestra.NotSaved", "Function.MalformedEvent", nil])
        let broken = "{\"errorMessage\":\"no ink\",\"errorType\":\"Function.Broken\",\"stackTrace\":[]}"
        #expect(reports.first?.body == broken)
        #expect(reports.last?.body == "4")
    }

    @Test func aProgramThatCannotBeginReportsThatAndEnds() async throws {
        let interface = FakeRuntimeInterface(next: [.event("1", id: "a")])
        try await interface.serve { address in
            let runtime = try LambdaRuntime(
                environment: ["AWS_LAMBDA_RUNTIME_API": address],
                logger: LambdaRuntimeTests.quiet
            )
            let error = await #expect(throws: FunctionError.self) {
                try await runtime.run { throw FunctionError("Celestra.Settings", "MISTKIT_KEY_ID is not set.") }
            }
            #expect(error?.type == "Celestra.Settings")
        }
        let body = """
            {"errorMessage":"MISTKIT_KEY_ID is not set.","errorType":"Celestra.Settings","stackTrace":[]}
            """
        #expect(interface.reports == [.init("/init/error", body, errorType: "Celestra.Settings")])
        #expect(interface.nextCount == 0)
    }

    @Test func withoutAnAddressThereIsNoRuntime() {
        for environment in [[:], ["AWS_LAMBDA_RUNTIME_API": ""]] {
            #expect(throws: RuntimeFailure.self) {
                try LambdaRuntime(environment: environment, logger: LambdaRuntimeTests.quiet)
            }
        }
    }

    @Test func aFunctionIsCancelledShortlyBeforeItsDeadline() async throws {
        let clock = TestClock()
        let deadline = Int64((clock.now.timeIntervalSince1970 + 30) * 1000)
        let interface = FakeRuntimeInterface(next: [
            .event("1", id: "a", headers: ["Lambda-Runtime-Deadline-Ms": "\(deadline)"]),
            .event("2", id: "b", headers: ["Lambda-Runtime-Deadline-Ms": "\(deadline)"]),
        ])
        let isCancelled = Mutex(false)
        let calls = Mutex(0)
        let now: @Sendable () -> Date = { clock.now }
        async let end = run(interface, now: now, timer: clock.timer) { _ in
            calls.withLock { $0 += 1 }
            await withTaskCancellationHandler {
                // Only a cancellation ends this wait.
                try? await Task.sleep(for: .seconds(3600))
            } onCancel: {
                isCancelled.withLock { $0 = true }
            }
            throw CancellationError()
        }
        await clock.waitForSleepers()
        clock.advance(by: 29.25)
        #expect(!isCancelled.withLock { $0 })
        clock.advance(by: 0.25)
        _ = try await end
        #expect(isCancelled.withLock { $0 })
        // When the second event arrives, its deadline is over, so the function is not called.
        #expect(interface.reports.map(\.path) == ["/invocation/a/error", "/invocation/b/error"])
        #expect(Set(interface.reports.map(\.errorType)) == ["Function.DeadlineExceeded"])
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func aResponseThatComesAtTheDeadlineIsSent() async throws {
        let clock = TestClock()
        let deadline = Int64((clock.now.timeIntervalSince1970 + 30) * 1000)
        let interface = FakeRuntimeInterface(next: [
            .event("1", id: "a", headers: ["Lambda-Runtime-Deadline-Ms": "\(deadline)"])
        ])
        let now: @Sendable () -> Date = { clock.now }
        async let end = run(interface, now: now, timer: clock.timer) { _ in
            // Cancellation ends this wait, but the function returns a response nevertheless.
            try? await Task.sleep(for: .seconds(3600))
            return Array("late".utf8)
        }
        await clock.waitForSleepers()
        clock.advance(by: 29.5)
        _ = try await end
        #expect(interface.reports == [.init("/invocation/a/response", "late")])
    }

    @Test func brokenConnectionsAreTriedAgain() async throws {
        let interface = FakeRuntimeInterface(
            next: [.breakOff, .breakOff, .event("1", id: "a"), .event("2", id: "b"), .breakOff, .breakOff, .breakOff],
            posts: [.breakOff, .status(400, "InvalidRequestID"), .status(202)]
        )
        let clock = TestClock(skippingWaits: true)
        let end = try await run(interface, timer: clock.timer) { $0.event }
        #expect(
            interface.reports.map(\.path) == [
                "/invocation/a/response", "/invocation/a/response", "/invocation/b/response",
            ]
        )
        #expect(interface.nextCount == 7)
        // The longer waits are those for the deadlines of the events.
        let pauses = clock.waits.filter { $0 < .seconds(1) }
        #expect(pauses == [50, 100, 50, 50, 100].map { .milliseconds($0) })
        #expect(end?.description.hasPrefix("GET /runtime/invocation/next got no response 3 times") == true)
    }

    @Test func aResponseThatIsTooLargeIsAnError() async throws {
        let interface = FakeRuntimeInterface(
            next: [.event("1", id: "a"), .event("2", id: "b"), .event("3", id: "c")],
            posts: [.status(202), .status(202), .status(413)]
        )
        _ = try await run(interface) { invocation in
            let count = ["a": RuntimeLoop.responseLimit, "b": RuntimeLoop.responseLimit + 1, "c": 10]
            return [UInt8](repeating: 0x20, count: count[invocation.requestID] ?? 0)
        }
        let reports = interface.reports
        #expect(
            reports.map(\.path) == [
                "/invocation/a/response", "/invocation/b/error", "/invocation/c/response", "/invocation/c/error",
            ]
        )
        #expect(reports.map(\.body.utf8.count).first == RuntimeLoop.responseLimit)
        let tooLarge = "Function.ResponseSizeTooLarge"
        #expect(reports.map(\.errorType) == [nil, tooLarge, nil, tooLarge])
    }
}
