package import CloudKitModel
import HTTPTypes
import StreamingJSON

extension CloudKitError {
    /// Reads a response that is not a success.
    ///
    /// Its body should be one error dictionary. Proxies, load balancers and sign-in pages send other bodies. Then the
    /// code follows from the status, and the message names the content type.
    ///
    /// - Parameters:
    ///   - response: The head of the response.
    ///   - body: Its body.
    ///   - target: The target of the request, which the message names where it matters.
    init(_ response: HTTPResponse, body: [UInt8], from target: RequestTarget?) {
        if let dictionary = try? JSONReader.read(ErrorResponse.self, from: body),
            dictionary.serverErrorCode != .unknownError
        {
            self.init(dictionary)
            message = Self.advice(for: code, from: target)
        } else {
            self = Self.withoutDictionary(response, body: body)
        }
        httpStatus = response.status
        requestUUID = requestUUID ?? response.headerFields[.requestUUID]
        if let asked = Duration(retryAfter: response.headerFields) { retryAfter = max(retryAfter ?? .zero, asked) }
    }

    private static func withoutDictionary(_ response: HTTPResponse, body: [UInt8]) -> CloudKitError {
        let type = response.headerFields[.contentType] ?? "no content type"
        let found =
            body.isEmpty ? "an empty body" : "\(body.count) bytes of \(type), which are not CloudKit's error dictionary"
        switch response.status.code {
        case 421:
            return CloudKitError(
                code: .misdirectedRequest,
                message: """
                    The server says that this connection is not for it (with \(found)). Hosts of CloudKit share \
                    addresses; another connection helps. This is not about signing in.
                    """
            )
        case 429:
            return CloudKitError(code: .throttled, message: "Too many requests (with \(found)). \(slowDown)")
        case 502, 503, 504:
            return CloudKitError(
                code: .serviceUnavailable,
                message: "The service, or a proxy in front of it, is not available (with \(found)). Try again later."
            )
        case 300..<400:
            return CloudKitError(
                code: .unexpectedResponse,
                message: """
                    The server redirects, which CloudKit does not do. Check the server's address, and whether this network has a \
                    proxy or a sign-in page.
                    """
            )
        default:
            return CloudKitError(
                code: .unexpectedResponse,
                message: """
                    The response is \(found). Check the server's address, and whether this network has a proxy.
                    """
            )
        }
    }

    /// An error dictionary: the body of a failed request, or a failed item of a batch.
    package init(_ dictionary: ErrorResponse, item: Item? = nil) {
        let code = Code(serverErrorCode: dictionary.serverErrorCode.rawValue)
        self.init(code: code, message: Self.advice(for: code))
        self.item = item
        reason = dictionary.reason
        retryAfter = dictionary.retryAfter.flatMap(Duration.init(wireSeconds:))
        requestUUID = dictionary.uuid
        redirectURL = dictionary.redirectURL
    }

    private static let slowDown = "Send fewer requests, or bigger batches, and wait as long as retryAfter says."

    /// The likely cause of a code of the service, and what to do.
    ///
    /// - Parameters:
    ///   - code: The code.
    ///   - target: The target of the request; `nil` if it is not known.
    /// - Returns: One or two sentences.
    static func advice(for code: Code, from target: RequestTarget? = nil) -> String {
        switch code {
        case .zoneNotFound where target?.scope == .public:
            "The public database has no custom zones. Leave the zone out, or use the private database."
        case .accessDenied:
            """
            The caller may not do this. Grant the permission to the role in the schema: _icloud for signed-in people \
            and server keys, _creator for a record's owner, _world for all clients.
            """
        case .atomicError:
            "Nothing of the atomic batch was stored, because one of its operations failed. Fix that operation, or send atomic: false."
        case .authenticationFailed:
            """
            The credentials were refused\(target.map { " for \($0)" } ?? ""). Check that the token or key is registered for \
            this container and this environment, that a key's public half is the one in the console, and that the clock is \
            right; server keys reach the public database only.
            """
        case .authenticationRequired:
            """
            A user must sign in\(target.map { " to \($0)" } ?? ""), at the address in redirectURL. Continue with the web \
            authentication token that the sign-in returns.
            """
        case .badRequest:
            "The service refused the request as invalid. Compare types, names and indexes with the schema."
        case .conflict:
            """
            The record was changed since it was fetched, or a record of this name exists already. Fetch it, merge, and send it with \
            its change tag.
            """
        case .exists:
            "The item exists already. Fetch it and update it, or choose another name."
        case .internalError:
            "An error inside the service. Send the request again later. A second subscription to the same changes also gets this error."
        case .notFound:
            "There is no such record. It may have been deleted, or be in another zone, database or environment."
        case .quotaExceeded:
            "The storage is full: the app's in the public database, the user's in the private one, the owner's in the shared one."
        case .throttled: "Too many requests. \(slowDown)"
        case .tryAgainLater: "A temporary failure of the service. Send the request again later."
        case .zoneBusy: "The zone is busy with another write. Send the request again later."
        case .uniqueFieldError: "Another record holds the same value in a field that must be unique."
        case .validatingReferenceError:
            "A reference with the action VALIDATE needs its target: save the target first, and delete it last."
        case .zoneNotFound:
            "The zone does not exist for this user. Create it first; if it was deleted, discard its records and change token."
        case .changeTokenExpired:
            "The change token is too old, or belongs to another feed. Discard what was fetched with it, and start without a token."
        case .limitExceeded:
            "The request or the record is too large. Send fewer records at a time; keep what makes a record large in an asset."
        default: "The service refused the request, with a code that this version of MistKit does not know."
        }
    }
}

extension Duration {
    /// Makes a duration from seconds that the service sent; `nil` if they are negative, not finite, or 10⁹ or more.
    init?(wireSeconds seconds: Double) {
        guard seconds.isFinite, seconds >= 0, seconds < 1e9 else { return nil }
        self = .seconds(seconds)
    }
}

extension HTTPField.Name {
    static let requestUUID = Self("X-Apple-Request-UUID")!
}
