import Foundation

/// An event for the function, with its metadata from the runtime interface.
public struct Invocation: Sendable, Hashable {
    /// The identifier of the request. The response is sent with it.
    public var requestID: String
    /// When Lambda ends the function.
    public var deadline: Date
    /// The ARN that the caller used: of the function, of a version, or of an alias.
    public var functionARN: String?
    /// The tracing header of AWS X-Ray.
    public var traceID: String?
    /// The event, which is a JSON document.
    public var event: [UInt8]

    /// Creates an invocation.
    public init(
        requestID: String,
        deadline: Date,
        functionARN: String? = nil,
        traceID: String? = nil,
        event: [UInt8]
    ) {
        self.requestID = requestID
        self.deadline = deadline
        self.functionARN = functionARN
        self.traceID = traceID
        self.event = event
    }

    /// Decodes the event from JSON.
    ///
    /// - Parameter type: The type of the event.
    /// - Returns: The event.
    /// - Throws: A ``FunctionError`` of the type `Function.MalformedEvent` that says what is wrong with it.
    public func decode<Event: Decodable>(_ type: Event.Type = Event.self) throws -> Event {
        do {
            return try JSONDecoder().decode(Event.self, from: Data(event))
        } catch {
            throw FunctionError(
                "Function.MalformedEvent",
                "The event cannot be read: \(Invocation.explanation(error)). Invoke the function with a JSON object."
            )
        }
    }

    private static func explanation(_ error: any Error) -> String {
        func path(_ context: DecodingError.Context) -> String {
            context.codingPath.isEmpty ? "the event" : context.codingPath.map(\.stringValue).joined(separator: ".")
        }
        switch error {
        case DecodingError.typeMismatch(let type, let context): return "\(path(context)) is not of the type \(type)"
        case DecodingError.valueNotFound(_, let context): return "\(path(context)) is null"
        case DecodingError.keyNotFound(let key, let context): return "\(path(context)) has no \(key.stringValue)"
        case DecodingError.dataCorrupted(let context): return "\(path(context)): \(context.debugDescription)"
        default: return "\(error)"
        }
    }
}

/// Why a function has no response. Lambda and its logs show the error.
public struct FunctionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of the error, for metrics and filters, such as `Celestra.NotSaved`.
    public var type: String
    /// What is wrong, and what to do.
    public var message: String

    /// Creates an error.
    public init(_ type: String, _ message: String) {
        self.type = type
        self.message = message
    }

    /// Wraps an error of any type. The name of its type becomes the kind. A `FunctionError` stays as it is.
    public init(_ error: any Error) {
        self = error as? FunctionError ?? FunctionError("Function.\(Swift.type(of: error))", "\(error)")
    }

    /// The type and the message on one line.
    public var description: String { "\(type): \(message)" }

    /// The body of the request that reports the error.
    var body: [UInt8] {
        struct Report: Encodable {
            var errorMessage: String
            var errorType: String
            var stackTrace: [String] = []
        }
        // Lambda limits the size of header fields and log lines, and a longer message helps no reader.
        let report = Report(errorMessage: String(message.prefix(10_000)), errorType: type)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(report)).map { Array($0) } ?? []
    }

    /// The type as the value of a header field: printable ASCII without spaces.
    var headerValue: String {
        String(type.unicodeScalars.map { (0x21...0x7E).contains($0.value) ? Character($0) : "_" })
    }
}
