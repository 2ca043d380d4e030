import Foundation

/// A request to the runtime interface.
struct RuntimeRequest: Sendable, Hashable {
    /// The method.
    var method = "POST"
    /// The path below the version of the interface.
    var path: String
    /// The header fields.
    var headers: [String: String] = [:]
    /// The body.
    var body: [UInt8] = []

    /// Asks for the next event.
    static let next = RuntimeRequest(method: "GET", path: "/runtime/invocation/next")

    /// Sends the response of the function.
    static func response(_ body: [UInt8], to requestID: String) -> RuntimeRequest {
        RuntimeRequest(
            path: "/runtime/invocation/\(requestID)/response",
            headers: ["Content-Type": "application/json"],
            body: body
        )
    }

    /// Reports that the function failed.
    static func error(_ error: FunctionError, of requestID: String) -> RuntimeRequest {
        report(error, at: "/runtime/invocation/\(requestID)/error")
    }

    /// Reports that the preparation of the program failed.
    static func initError(_ error: FunctionError) -> RuntimeRequest { report(error, at: "/runtime/init/error") }

    private static func report(_ error: FunctionError, at path: String) -> RuntimeRequest {
        RuntimeRequest(
            path: path,
            headers: [
                "Content-Type": "application/vnd.aws.lambda.error+json",
                "Lambda-Runtime-Function-Error-Type": error.headerValue,
            ],
            body: error.body
        )
    }
}

/// A response of the runtime interface. Names of header fields are in lower case.
struct RuntimeReply: Sendable, Hashable {
    var status: Int
    var headers: [String: String] = [:]
    var body: [UInt8] = []
}

/// Why the program ends. Lambda starts it again with the next event.
public struct RuntimeFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// What happened.
    public var description: String
}

/// The state machine of the program: the rules of the runtime interface, without its requests.
///
/// ```swift
/// var loop = RuntimeLoop()
/// var step = loop.begin()                    // .send(GET /runtime/invocation/next)
/// step = loop.receive(reply)                 // .handle(invocation)
/// step = loop.finish(.success(bytes))        // .send(POST /runtime/invocation/…/response)
/// step = loop.receive(RuntimeReply(status: 202))  // .send(GET /runtime/invocation/next)
/// ```
struct RuntimeLoop: Sendable {
    /// What the program has to do next.
    enum Step: Sendable, Hashable {
        /// Send a request after a pause. Then call `receive` with its reply, or `receiveNothing` with the error of the
        /// connection.
        case send(RuntimeRequest, after: Duration)
        /// Call the function. Then call `finish` with its result.
        case handle(Invocation)
        /// End the program.
        case exit(RuntimeFailure)
    }

    private enum State {
        case idle
        case sending(RuntimeRequest, requestID: String?, attempt: Int)
        case handling(requestID: String)
        case ended
    }

    /// The largest response that Lambda accepts, in bytes.
    static let responseLimit = 6_291_556
    /// How often a request is sent if the connection breaks.
    static let attemptLimit = 3

    private var state = State.idle

    /// The first step.
    mutating func begin() -> Step { send(.next) }

    /// The step after a response of the runtime interface.
    mutating func receive(_ reply: RuntimeReply) -> Step {
        guard case .sending(let request, let requestID, let attempt) = state else { return misuse("a reply") }
        guard let requestID else { return receiveNext(reply) }
        switch reply.status {
        case 200..<300:
            return send(.next)
        case 413 where request.path.hasSuffix("/response"):
            return send(.error(RuntimeLoop.tooLarge(request.body.count), of: requestID), for: requestID)
        case 400 where attempt > 1, 403 where attempt > 1:
            // The reply to an earlier attempt was lost, so the interface no longer waits for a response.
            return send(.next)
        default:
            return exit("\(request.path) was refused with status \(reply.status).\(RuntimeLoop.quotation(reply.body))")
        }
    }

    /// The step after a request that got no response.
    mutating func receiveNothing(because reason: String) -> Step {
        guard case .sending(let request, let requestID, let attempt) = state else { return misuse("a failure") }
        guard attempt < RuntimeLoop.attemptLimit else {
            return exit("\(request.method) \(request.path) got no response \(attempt) times, the last time: \(reason)")
        }
        state = .sending(request, requestID: requestID, attempt: attempt + 1)
        return .send(request, after: .milliseconds(50) * attempt)
    }

    /// The step after the function.
    mutating func finish(_ result: Result<[UInt8], FunctionError>) -> Step {
        guard case .handling(let requestID) = state else { return misuse("a result") }
        switch result {
        case .success(let body) where body.count > RuntimeLoop.responseLimit:
            return send(.error(RuntimeLoop.tooLarge(body.count), of: requestID), for: requestID)
        case .success(let body):
            return send(.response(body, to: requestID), for: requestID)
        case .failure(let error):
            return send(.error(error, of: requestID), for: requestID)
        }
    }

    private mutating func receiveNext(_ reply: RuntimeReply) -> Step {
        guard reply.status == 200 else {
            return exit(
                "The runtime interface has no event: status \(reply.status).\(RuntimeLoop.quotation(reply.body))"
            )
        }
        guard let requestID = reply.headers["lambda-runtime-aws-request-id"], RuntimeLoop.isRequestID(requestID) else {
            return exit("The runtime interface sent an event without a valid Lambda-Runtime-Aws-Request-Id.")
        }
        let text = reply.headers["lambda-runtime-deadline-ms"] ?? ""
        guard let milliseconds = Int64(text), milliseconds > 0 else {
            let error = FunctionError("Runtime.MalformedInvocation", "Lambda-Runtime-Deadline-Ms is \"\(text)\".")
            return send(.error(error, of: requestID), for: requestID)
        }
        state = .handling(requestID: requestID)
        return .handle(
            Invocation(
                requestID: requestID,
                deadline: Date(timeIntervalSince1970: Double(milliseconds) / 1000),
                functionARN: reply.headers["lambda-runtime-invoked-function-arn"],
                traceID: reply.headers["lambda-runtime-trace-id"],
                event: reply.body
            )
        )
    }

    private mutating func send(_ request: RuntimeRequest, for requestID: String? = nil) -> Step {
        state = .sending(request, requestID: requestID, attempt: 1)
        return .send(request, after: .zero)
    }

    private mutating func exit(_ reason: String) -> Step {
        state = .ended
        return .exit(RuntimeFailure(description: reason))
    }

    private mutating func misuse(_ what: String) -> Step {
        exit("The program's loop expected something else than \(what).")
    }

    /// Whether a text is safe as a part of a path.
    private static func isRequestID(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 128
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }

    private static func tooLarge(_ count: Int) -> FunctionError {
        FunctionError(
            "Function.ResponseSizeTooLarge",
            "The response has \(count) bytes, and Lambda takes \(responseLimit). Return less."
        )
    }

    private static func quotation(_ body: [UInt8]) -> String {
        body.isEmpty ? "" : " It says: " + String(decoding: body.prefix(300), as: UTF8.self)
    }
}
