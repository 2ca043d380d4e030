extension CloudKitError {
    /// The kind of a failure.
    ///
    /// Codes of the service are those of its `serverErrorCode` key; a code that this version does not know is kept as
    /// it is, so `code.serverErrorCode` is always the text of the service. The other codes are local: no server sent
    /// them.
    ///
    /// ## Topics
    ///
    /// ### Who you are and what you may do
    /// - ``authenticationRequired``
    /// - ``authenticationFailed``
    /// - ``accessDenied``
    ///
    /// ### Records and zones
    /// - ``conflict``
    /// - ``exists``
    /// - ``notFound``
    /// - ``zoneNotFound``
    /// - ``atomicError``
    /// - ``uniqueFieldError``
    /// - ``validatingReferenceError``
    /// - ``changeTokenExpired``
    ///
    /// ### Requests and limits
    /// - ``badRequest``
    /// - ``quotaExceeded``
    /// - ``limitExceeded``
    ///
    /// ### Try again later
    /// - ``throttled``
    /// - ``tryAgainLater``
    /// - ``zoneBusy``
    /// - ``internalError``
    ///
    /// ### Local failures
    /// - ``invalidArgument``
    /// - ``invalidCredentials``
    /// - ``signing``
    /// - ``tokenStorage``
    /// - ``signInFailed``
    /// - ``network``
    /// - ``serviceUnavailable``
    /// - ``misdirectedRequest``
    /// - ``unexpectedResponse``
    /// - ``responseTooLarge``
    /// - ``decoding``
    /// - ``encoding``
    /// - ``cancelled``
    /// - ``outcomeUnknown``
    /// - ``middleware``
    ///
    /// ### Files
    /// - ``assetAddressExpired``
    /// - ``localData``
    public struct Code: Hashable, Sendable {
        private enum Kind: Hashable, Sendable {
            case server(String)
            case local(Local)
        }

        private enum Local: String, Hashable, Sendable {
            case invalidArgument
            case invalidCredentials
            case signing
            case tokenStorage
            case signInFailed
            case network
            case serviceUnavailable
            case misdirectedRequest
            case unexpectedResponse
            case responseTooLarge
            case decoding
            case encoding
            case cancelled
            case outcomeUnknown
            case middleware
            case assetAddressExpired
            case localData
        }

        private let kind: Kind

        private init(_ local: Local) {
            kind = .local(local)
        }

        /// The code of a `serverErrorCode`, known to this version or not.
        ///
        /// - Parameter serverErrorCode: The text that the service sent, such as `CONFLICT`.
        public init(serverErrorCode: String) {
            kind = .server(serverErrorCode)
        }

        /// The `serverErrorCode` of the service; `nil` for local codes.
        public var serverErrorCode: String? {
            switch kind {
            case .server(let text): text
            case .local: nil
            }
        }

        // The service's codes: Apple's table of error codes, and those that only CloudKit JS knows.

        /// No permission for the endpoint, record, zone or database: the role of the caller lacks a grant in the schema.
        public static let accessDenied = Self(serverErrorCode: "ACCESS_DENIED")
        /// Another operation of the atomic batch failed, so this one was not done either.
        public static let atomicError = Self(serverErrorCode: "ATOMIC_ERROR")
        /// The credentials were refused: a bad token, a bad signature, an unknown key, or a clock that is far off.
        ///
        /// When there are no credentials of a person at all, the service says ``authenticationRequired`` instead.
        public static let authenticationFailed = Self(serverErrorCode: "AUTHENTICATION_FAILED")
        /// A person has to sign in, at ``CloudKitError/redirectURL``; also when a web authentication token has expired.
        public static let authenticationRequired = Self(serverErrorCode: "AUTHENTICATION_REQUIRED")
        /// The request is invalid: a wrong type, an unknown field, a field without the needed index.
        public static let badRequest = Self(serverErrorCode: "BAD_REQUEST")
        /// The record changed since it was fetched: its change tag is old.
        public static let conflict = Self(serverErrorCode: "CONFLICT")
        /// The item to create exists already. The service may report ``conflict`` for the same cause.
        public static let exists = Self(serverErrorCode: "EXISTS")
        /// A fault of the service.
        public static let internalError = Self(serverErrorCode: "INTERNAL_ERROR")
        /// No such record, or no such endpoint; for zones see ``zoneNotFound``.
        public static let notFound = Self(serverErrorCode: "NOT_FOUND")
        /// The storage of the app (public database) or of the person (private database) is full.
        public static let quotaExceeded = Self(serverErrorCode: "QUOTA_EXCEEDED")
        /// Too many requests; ``CloudKitError/retryAfter`` says how long to wait.
        public static let throttled = Self(serverErrorCode: "THROTTLED")
        /// A temporary failure of the service.
        public static let tryAgainLater = Self(serverErrorCode: "TRY_AGAIN_LATER")
        /// Another record has the same value in a field that must be unique.
        public static let uniqueFieldError = Self(serverErrorCode: "UNIQUE_FIELD_ERROR")
        /// The target of a `VALIDATE` reference is missing, or the request deletes a record that such a reference
        /// names.
        public static let validatingReferenceError = Self(serverErrorCode: "VALIDATING_REFERENCE_ERROR")
        /// No such zone. Create it first; if it was deleted, discard its records and its change token.
        public static let zoneNotFound = Self(serverErrorCode: "ZONE_NOT_FOUND")
        /// The zone is busy with another write.
        public static let zoneBusy = Self(serverErrorCode: "ZONE_BUSY")
        /// The change token is too old or not valid: discard the records that were fetched with it, and start without a
        /// token.
        ///
        /// Only other clients of the service are known to report this code; Apple's pages do not list it.
        public static let changeTokenExpired = Self(serverErrorCode: "CHANGE_TOKEN_EXPIRED")
        /// The request holds more items than the service takes.
        ///
        /// Only other clients of the service are known to report this code; Apple's pages do not list it.
        public static let limitExceeded = Self(serverErrorCode: "LIMIT_EXCEEDED")

        // Local codes.

        /// An argument of the call is not valid; nothing was sent. The message says which argument, and why.
        public static let invalidArgument = Self(.invalidArgument)
        /// A token, key or key identifier does not have a valid form; nothing was sent.
        ///
        /// Credentials that look right and are refused by the service give ``authenticationFailed``.
        public static let invalidCredentials = Self(.invalidCredentials)
        /// A request could not be signed.
        public static let signing = Self(.signing)
        /// A ``TokenStorage`` could not be read or written.
        public static let tokenStorage = Self(.tokenStorage)
        /// A person was asked to sign in and did not: the page was closed or refused, or the time ran out.
        public static let signInFailed = Self(.signInFailed)
        /// No response: the connection failed, or was lost before the whole response arrived.
        ///
        /// A write that fails with this code may have been done or not; see ``CloudKitError/mayHaveBeenDone``.
        public static let network = Self(.network)
        /// The service, or something in front of it, is down: HTTP 502, 503 or 504 without CloudKit's own error.
        public static let serviceUnavailable = Self(.serviceUnavailable)
        /// HTTP 421 without CloudKit's own error: the connection belongs to another host of the same address.
        public static let misdirectedRequest = Self(.misdirectedRequest)
        /// A response that CloudKit does not send: an HTML page, a wrong number of results, a redirect.
        ///
        /// JSON that should be CloudKit's and cannot be read gives ``decoding``.
        public static let unexpectedResponse = Self(.unexpectedResponse)
        /// A response is longer than the client takes into memory. Sending the request again would not help, so it is not
        /// repeated.
        public static let responseTooLarge = Self(.responseTooLarge)
        /// A successful response could not be read.
        public static let decoding = Self(.decoding)
        /// A request could not be written, for example because a number is not finite.
        public static let encoding = Self(.encoding)
        /// The task was cancelled before the request was sent, or during a request that only reads. Nothing was
        /// written.
        ///
        /// A write that was under way gives ``outcomeUnknown``.
        public static let cancelled = Self(.cancelled)
        /// The task was cancelled while a write was under way: the write may have been done or not.
        ///
        /// Fetch the record to find out. A write whose connection was lost gives ``network``;
        /// ``CloudKitError/mayHaveBeenDone`` is `true` in both cases.
        public static let outcomeUnknown = Self(.outcomeUnknown)
        /// A middleware of the service threw an error; that error is the ``CloudKitError/cause``.
        public static let middleware = Self(.middleware)
        /// The address of an asset is out of date or used up: HTTP 403, 404 or 410 of the asset host. Fetch the record again.
        public static let assetAddressExpired = Self(.assetAddressExpired)
        /// The bytes to upload could not be read, or the downloaded bytes could not be written.
        public static let localData = Self(.localData)
    }
}

extension CloudKitError.Code: CustomStringConvertible {
    /// The service's text, such as `CONFLICT`, or the name of the local code, such as `invalidArgument`.
    public var description: String {
        switch kind {
        case .server(let text): text
        case .local(let local): local.rawValue
        }
    }
}
