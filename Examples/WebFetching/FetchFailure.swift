/// Why a document could not be fetched.
public struct FetchFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case invalidAddress, unreachable, timedOut, tooLarge, truncated, undecodable, refusedByRobots
            case redirectLoop, tooManyRedirects, invalidRedirect, gone, status, postponed
        }

        private let value: Value

        /// The address is not a web address.
        public static let invalidAddress = Code(value: .invalidAddress)
        /// There was no connection: the host is unknown, refuses it, or its certificate is not valid.
        public static let unreachable = Code(value: .unreachable)
        /// The response did not end in time.
        public static let timedOut = Code(value: .timedOut)
        /// The response is larger than the limit, before or after it is decompressed.
        public static let tooLarge = Code(value: .tooLarge)
        /// The connection ended before the response did.
        public static let truncated = Code(value: .truncated)
        /// The response is compressed, and the compressed data are damaged.
        public static let undecodable = Code(value: .undecodable)
        /// The host's `robots.txt` forbids the address, or cannot be read.
        public static let refusedByRobots = Code(value: .refusedByRobots)
        /// A redirect leads to an address that was visited before.
        public static let redirectLoop = Code(value: .redirectLoop)
        /// There are more redirects than the limit.
        public static let tooManyRedirects = Code(value: .tooManyRedirects)
        /// A redirect leads to something that is not a web address, or from `https` to `http`.
        public static let invalidRedirect = Code(value: .invalidRedirect)
        /// The host says that the document was removed and does not come back: status 410.
        public static let gone = Code(value: .gone)
        /// The response has another status that is not a success; ``FetchFailure/status`` has it.
        public static let status = Code(value: .status)
        /// The host asked to wait, with Retry-After in an earlier response. Nothing was sent.
        public static let postponed = Code(value: .postponed)

        /// The name of the code.
        public var description: String { value.rawValue }
    }

    /// What went wrong.
    public let code: Code
    /// What went wrong, and where.
    public let message: String
    /// The status of the response, if the status is what went wrong.
    public let status: Int?

    /// Creates a failure.
    public init(_ code: Code, _ message: String, status: Int? = nil) {
        self.code = code
        self.message = message
        self.status = status
    }

    /// The message.
    public var description: String { message }
}
