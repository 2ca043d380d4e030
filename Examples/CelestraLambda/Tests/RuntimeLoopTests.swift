import Foundation
import Testing

@testable import LambdaRuntime

/// The rules of the runtime interface, without requests.
struct RuntimeLoopTests {
    private let event = RuntimeReply(
        status: 200,
        headers: [
            "lambda-runtime-aws-request-id": "8476a536-e9f4-11e8-9739-2dfe598c3fcd",
            "lambda-runtime-deadline-ms": "1542409706888",
            "lambda-runtime-invoked-function-arn": "arn:aws:lambda:us-east-2:123456789012:function:custom-runtime",
            "lambda-runtime-trace-id": "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Sampled=1",
        ],
        body: Array("{}".utf8)
    )
    private let id = "8476a536-e9f4-11e8-9739-2dfe598c3fcd"

    /// A loop that has passed an event to the function.
    private func handling() -> RuntimeLoop {
        var loop = RuntimeLoop()
        _ = loop.begin()
        _ = loop.receive(event)
        return loop
    }

    /// A loop that has sent a response.
    private func responding() -> RuntimeLoop {
        var loop = handling()
        _ = loop.finish(.success([1]))
        return loop
    }

    private func reason(_ step: RuntimeLoop.Step) -> String? {
        guard case .exit(let failure) = step else { return nil }
        return failure.description
    }

    @Test func anInvocationGoesAround() {
        var loop = RuntimeLoop()
        #expect(loop.begin() == .send(.next, after: .zero))
        let invocation = Invocation(
            requestID: id,
            deadline: Date(timeIntervalSince1970: 1_542_409_706.888),
            functionARN: "arn:aws:lambda:us-east-2:123456789012:function:custom-runtime",
            traceID: "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Sampled=1",
            event: Array("{}".utf8)
        )
        #expect(loop.receive(event) == .handle(invocation))
        let response = RuntimeRequest(
            path: "/runtime/invocation/\(id)/response",
            headers: ["Content-Type": "application/json"],
            body: [1]
        )
        #expect(loop.finish(.success([1])) == .send(response, after: .zero))
        #expect(loop.receive(RuntimeReply(status: 202)) == .send(.next, after: .zero))
    }

    @Test func aLongMessageIsCut() {
        let error = FunctionError("Celestra.NotSaved", String(repeating: "x", count: 20_000))
        #expect(error.body.count { $0 == UInt8(ascii: "x") } == 10_000)
    }

    @Test func anErrorIsReportedWithItsType() throws {
        var loop = handling()
        let error = FunctionError("Celestra.Not Saved\n", "It is \"full\".")
        guard case .send(let request, .zero) = loop.finish(.failure(error)) else {
            Issue.record("no request")
            return
        }
        #expect(request.path == "/runtime/invocation/\(id)/error")
        #expect(request.headers["Lambda-Runtime-Function-Error-Type"] == "Celestra.Not_Saved_")
        let expected = """
            {"errorMessage":"It is \\"full\\".","errorType":"Celestra.Not Saved\\n","stackTrace":[]}
            """
        #expect(String(decoding: request.body, as: UTF8.self) == expected)
        #expect(loop.receive(RuntimeReply(status: 202)) == .send(.next, after: .zero))
    }

    @Test func aResponseOfTheLargestSizeIsSentAndALargerOneIsAnError() {
        var loop = handling()
        let largest = [UInt8](repeating: 0x20, count: RuntimeLoop.responseLimit)
        #expect(loop.finish(.success(largest)) == .send(.response(largest, to: id), after: .zero))
        let error = FunctionError(
            "Function.ResponseSizeTooLarge",
            "The response has 6291557 bytes, and Lambda takes 6291556. Return less."
        )
        loop = handling()
        #expect(loop.finish(.success(largest + [0x20])) == .send(.error(error, of: id), after: .zero))
    }

    @Test func aResponseThatTheInterfaceFindsTooLargeIsAnErrorToo() {
        var loop = responding()
        let error = FunctionError(
            "Function.ResponseSizeTooLarge",
            "The response has 1 bytes, and Lambda takes 6291556. Return less."
        )
        #expect(loop.receive(RuntimeReply(status: 413)) == .send(.error(error, of: id), after: .zero))
        #expect(reason(loop.receive(RuntimeReply(status: 413)))?.contains("refused with status 413") == true)
    }

    @Test func anEventWithoutAnIdentifierEndsTheProgram() {
        for id in [nil, "", "a/b", "a b", String(repeating: "a", count: 129)] {
            var loop = RuntimeLoop()
            _ = loop.begin()
            var event = event
            event.headers["lambda-runtime-aws-request-id"] = id
            #expect(reason(loop.receive(event))?.contains("Lambda-Runtime-Aws-Request-Id") == true)
        }
    }

    @Test func anEventWithoutADeadlineIsReported() {
        for text in [nil, "", "soon", "-1", "1.5"] {
            var loop = RuntimeLoop()
            _ = loop.begin()
            var event = event
            event.headers["lambda-runtime-deadline-ms"] = text
            let error = FunctionError("Runtime.MalformedInvocation", "Lambda-Runtime-Deadline-Ms is \"\(text ?? "")\".")
            #expect(loop.receive(event) == .send(.error(error, of: id), after: .zero))
        }
    }

    @Test(arguments: [400, 403, 500, 502])
    func aRefusalEndsTheProgram(status: Int) {
        var loop = RuntimeLoop()
        _ = loop.begin()
        let refusal = RuntimeReply(status: status, body: Array("InvalidStateTransition".utf8))
        #expect(reason(loop.receive(refusal))?.hasSuffix("status \(status). It says: InvalidStateTransition") == true)
        loop = responding()
        #expect(reason(loop.receive(refusal))?.contains("/response was refused with status \(status).") == true)
    }

    @Test func aBrokenConnectionIsTriedAgainAfterAPause() {
        var loop = RuntimeLoop()
        _ = loop.begin()
        #expect(loop.receiveNothing(because: "closed") == .send(.next, after: .milliseconds(50)))
        #expect(loop.receiveNothing(because: "closed") == .send(.next, after: .milliseconds(100)))
        let end = loop.receiveNothing(because: "refused")
        #expect(reason(end) == "GET /runtime/invocation/next got no response 3 times, the last time: refused")
    }

    /// The first response arrived, and only the reply to it was lost: the interface no longer waits for this
    /// invocation.
    @Test(arguments: [400, 403])
    func aRefusalOfARepeatedResponseIsNoFailure(status: Int) {
        var loop = responding()
        #expect(loop.receiveNothing(because: "closed") == .send(.response([1], to: id), after: .milliseconds(50)))
        #expect(loop.receive(RuntimeReply(status: status)) == .send(.next, after: .zero))
    }

    @Test func whatIsOutOfOrderEndsTheProgram() {
        var loop = RuntimeLoop()
        #expect(reason(loop.finish(.success([]))) != nil)
        loop = handling()
        #expect(reason(loop.receive(event)) != nil)
        loop = handling()
        #expect(reason(loop.receiveNothing(because: "closed")) != nil)
    }

    @Test(
        arguments: [
            ("", "the event: The given data was not valid JSON."),
            ("{\"maxFailures\": \"many\"}", "maxFailures is not of the type Int"),
            ("[1]", "the event is not of the type Dictionary<String, Any>"),
        ]
    )
    func aMalformedEventIsExplained(event: String, explanation: String) {
        struct Event: Decodable { var maxFailures: Int? }
        let invocation = Invocation(requestID: "1", deadline: Date(), event: Array(event.utf8))
        let error = #expect(throws: FunctionError.self) { try invocation.decode(Event.self) }
        #expect(error?.type == "Function.MalformedEvent")
        #expect(error?.message == "The event cannot be read: \(explanation). Invoke the function with a JSON object.")
    }
}
