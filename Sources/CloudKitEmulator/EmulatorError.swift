public import CloudKitModel

/// A refusal of a whole request, as the service words it.
///
/// What fails for one item of a batch is no error: it is that item's `RecordResult` or
/// `ZoneResult` in the reply.
public struct EmulatorError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The service's code. Which HTTP status goes with it is the server's matter.
    public var serverErrorCode: ServerErrorCode
    /// The service's words.
    public var reason: String
    /// The seconds to wait before the request may be repeated; `nil` means: do not repeat it.
    public var retryAfter: Double?
    /// Where to sign in. The rules leave it empty: the address belongs to the server.
    public var redirectURL: String?

    /// Makes a refusal.
    public init(
        _ serverErrorCode: ServerErrorCode,
        _ reason: String,
        retryAfter: Double? = nil,
        redirectURL: String? = nil
    ) {
        self.serverErrorCode = serverErrorCode
        self.reason = reason
        self.retryAfter = retryAfter
        self.redirectURL = redirectURL
    }

    /// The code and the reason.
    public var description: String {
        "\(serverErrorCode.rawValue): \(reason)"
    }
}

extension EmulatorError {
    static func badRequest(_ reason: String) -> EmulatorError {
        EmulatorError(.badRequest, reason)
    }

    /// What every rejected credential gets, with no hint which part was wrong (Apple forum 777574).
    static let authenticationFailed = EmulatorError(.authenticationFailed, "Authentication failed")

    /// What a request gets that needs a user and has none (Composing Web Service Requests).
    static let authenticationRequired = EmulatorError(.authenticationRequired, "request needs authorization")

    static func zoneNotFound(_ zoneID: ZoneID) -> EmulatorError {
        EmulatorError(.zoneNotFound, "Zone '\(zoneID.zoneName)' does not exist")
    }

    /// The observed text names the scope as `publicdb`, `privatedb` or `sharedb`.
    static func notApplicable(in scope: DatabaseScope) -> EmulatorError {
        let name =
            switch scope {
            case .public: "publicdb"
            case .private: "privatedb"
            case .shared: "sharedb"
            }
        return .badRequest("endpoint not applicable in the database type '\(name)'")
    }
}
