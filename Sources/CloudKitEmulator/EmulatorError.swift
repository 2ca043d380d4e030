public import CloudKitModel

/// The failure of a whole request, in the words of the service.
///
/// The failure of one item of a batch is not thrown: it is that item's `RecordResult` or `ZoneResult` in the reply.
public struct EmulatorError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The service's code. The server decides which HTTP status goes with it.
    public var serverErrorCode: ServerErrorCode
    /// The service's words.
    public var reason: String
    /// The seconds to wait before the request may be repeated; `nil` means: do not repeat it.
    public var retryAfter: Double?
    /// Where to sign in. The rules leave it empty: the address belongs to the server.
    public var redirectURL: String?
    /// What explains the failure. It is no part of the answer.
    package var cause = RefusalCause()

    /// Makes a failure.
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

    /// Whether two failures are answered in the same way.
    public static func == (one: EmulatorError, other: EmulatorError) -> Bool {
        one.serverErrorCode == other.serverErrorCode && one.reason == other.reason
            && one.retryAfter == other.retryAfter && one.redirectURL == other.redirectURL
    }

    /// Hashes what is answered.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(serverErrorCode)
        hasher.combine(reason)
    }

    /// The code and the reason.
    public var description: String {
        "\(serverErrorCode.rawValue): \(reason)"
    }
}

extension Result where Failure == EmulatorError {
    /// Makes the result of one item: the value that `body` returns, or the ``EmulatorError`` that it throws. Any other
    /// error fails the whole request.
    init(ofItem body: () throws -> Success) throws {
        do {
            self = .success(try body())
        } catch let error as EmulatorError {
            self = .failure(error)
        }
    }
}

extension ItemResult {
    /// Makes the result of one item of a batch: the item that `body` returns, or the ``EmulatorError`` that it throws.
    init(_ id: Item.ItemID?, _ body: () throws -> Item) throws {
        switch try Result(ofItem: body) {
        case .success(let item): self = .success(item)
        case .failure(let error): self = .failure(ItemError(id: id, response: error.response))
        }
    }
}

extension RecordOutput {
    /// Makes the result for one record of a batch: what `body` returns, or the ``EmulatorError`` that it throws, which
    /// is noted.
    init(_ recordName: String?, _ notes: RefusalNotes?, _ body: () throws -> RecordOutput) throws {
        switch try Result(ofItem: body) {
        case .success(let output): self = output
        case .failure(let error):
            notes?.add(error, of: recordName)
            self = .result(.failure(RecordError(id: recordName, response: error.response)))
        }
    }
}

extension EmulatorError {
    /// The error dictionary of a reply.
    package var response: ErrorResponse {
        ErrorResponse(
            serverErrorCode: serverErrorCode,
            reason: reason,
            retryAfter: retryAfter,
            redirectURL: redirectURL
        )
    }

    static func badRequest(_ reason: String) -> EmulatorError {
        EmulatorError(.badRequest, reason)
    }

    /// The failure of every rejected credential. It does not say which part was wrong (Apple forum 777574).
    static let authenticationFailed = EmulatorError(.authenticationFailed, "Authentication failed")

    /// The failure of a request that needs a user and has none (Composing Web Service Requests).
    static let authenticationRequired =
        EmulatorError(.authenticationRequired, "request needs authorization").helped(by: .signIn)

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
