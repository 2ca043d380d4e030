import CloudKitWebServices
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CloudKitError {
    /// The task was cancelled before a request was sent, or while it waited for something to read.
    static func cancelled(operation: String?) -> CloudKitError {
        var error = CloudKitError(code: .cancelled, message: "The task was cancelled. Nothing was written.")
        error.operation = operation
        return error
    }

    /// The task was cancelled while a write was under way.
    static func outcomeUnknown(operation: String?) -> CloudKitError {
        var error = CloudKitError(
            code: .outcomeUnknown,
            message: """
                The task was cancelled while this write was under way: it may have been done or not. Fetch the record to find out.
                """
        )
        error.operation = operation
        error.mayHaveBeenDone = true
        return error
    }

    /// The task was cancelled while a request was under way.
    private static func cancelled(whileSending operation: String) -> CloudKitError {
        Operations.isWrite(operation)
            ? .outcomeUnknown(operation: operation) : .cancelled(operation: operation)
    }

    /// Whether the request never reached the service, as no connection was made.
    var isUnsent: Bool {
        code == .network && [.connectionFailed, .invalidURL].contains((cause as? TransportError)?.code)
    }

    /// The error for what a transport threw.
    static func transport(_ error: any Error, operation: String) -> CloudKitError {
        switch error {
        case let error as CloudKitError:
            return error
        case let error as ClientError:
            return transport(error.underlyingError, operation: operation)
        case is CancellationError:
            return .cancelled(whileSending: operation)
        case let error as HTTPBodyError where error.code == .tooManyBytes:
            var failure = CloudKitError(
                code: .responseTooLarge,
                message: """
                    The response is larger than this client accepts. Request less: use a smaller pageSize, fewer names, or \
                    desiredKeys. If the request was a write, it was done.
                    """,
                cause: error
            )
            failure.operation = operation
            return failure
        default:
            // Transports have their own errors for a cancelled task.
            if Task.isCancelled { return .cancelled(whileSending: operation) }
            let transportError = error as? TransportError
            let problem =
                transportError?.message
                ?? "The server sent no complete response. Check its address, that it runs, and the network."
            let consequence =
                switch transportError?.code {
                case .connectionFailed, .invalidURL: "Nothing was sent."
                default: "A write that was under way may have been done or not."
                }
            var failure = CloudKitError(code: .network, message: "\(problem) \(consequence)", cause: error)
            failure.operation = operation
            return failure
        }
    }

    /// Makes an error from what the generated client, a middleware or the transport threw.
    ///
    /// The bytes of the whole response have arrived before. So only a middleware, writing the request and reading the
    /// response can still fail.
    init(_ error: any Error, operation: String) {
        switch error {
        case let error as CloudKitError:
            self = error
        case let error as ClientError:
            self.init(error.underlyingError, operation: operation)
            switch error.underlyingError {
            case is CloudKitError, is CancellationError: return
            default: break
            }
            if error.request == nil {
                code = .encoding
                message = "The request could not be written."
            } else if error.response == nil {
                code = .middleware
                message = "A middleware that was given to the service failed."
            }
            httpStatus = error.response?.status
            requestUUID = error.response?.headerFields[.requestUUID]
        case is CancellationError:
            self = .cancelled(whileSending: operation)
        case is JSONError, is DecodingError:
            self.init(
                code: .decoding,
                message: "The response is not what the protocol says, or not JSON at all.",
                cause: error
            )
        default:
            self.init(
                code: .unexpectedResponse,
                message: """
                    The response is not from CloudKit. Check the server's address, and whether this network has a proxy or a \
                    sign-in page.
                    """,
                cause: error
            )
        }
        self.operation = self.operation ?? operation
    }
}
