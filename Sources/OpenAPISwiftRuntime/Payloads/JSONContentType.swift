/// The media types of an operation whose responses are all JSON.
@frozen
public enum JSONContentType: AcceptableProtocol {
    /// `application/json`
    case json
    /// Any other media type.
    case other(String)

    /// The case of a media type.
    /// - Parameter rawValue: `application/json` for instance.
    public init?(rawValue: String) {
        self = rawValue.lowercased() == "application/json" ? .json : .other(rawValue)
    }

    /// The media type.
    public var rawValue: String {
        switch self {
        case .json: "application/json"
        case .other(let text): text
        }
    }

    /// The media types that responses have.
    public static var allCases: [JSONContentType] { [.json] }
}

/// The header fields of a request whose only header field is Accept.
@frozen
public struct AcceptHeaders<ContentType: AcceptableProtocol>: OperationValue {
    /// The media types that the caller can read.
    public var accept: [AcceptHeaderContentType<ContentType>]

    /// Creates header fields.
    /// - Parameter accept: The media types that the caller can read.
    public init(accept: [AcceptHeaderContentType<ContentType>] = .defaultValues()) {
        self.accept = accept
    }
}
