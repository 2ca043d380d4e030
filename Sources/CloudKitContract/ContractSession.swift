import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One check of one rule.
///
/// It sends requests, and keeps a list of what it must delete afterwards.
///
/// The names of its zones, and of records outside of them, have a random ending of the session. So several checks can
/// run at the same time, and repeatedly on the same data.
public struct ContractSession: Sendable {
    let target: ContractTarget
    /// The random ending of this session's names.
    let ending: String
    private var zones: [Destination] = []
    private var records: [(destination: Destination, name: String)] = []
    private var subscriptions: [(destination: Destination, id: String)] = []

    init(target: ContractTarget) {
        self.target = target
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        ending = String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// A name that nothing else has.
    func unique(_ name: String) -> String {
        "\(name)-\(ending)"
    }

    /// Deletes everything that the session created. A deletion that fails is ignored, because the rule's own outcome
    /// matters more.
    func cleanUp() async {
        for (destination, id) in subscriptions {
            _ = try? await modifySubscriptions([("delete", ["subscriptionID": .string(id)])], in: destination)
        }
        for zone in zones {
            let operation: JSONValue = ["operationType": "delete", "zone": ["zoneID": zone.zoneID ?? .null]]
            _ = try? await post("zones/modify", ["operations": [operation]], in: zone)
        }
        for (destination, name) in records {
            _ = try? await modify([.forceDelete(name)], in: destination)
        }
    }

    /// Deletes a record when the session ends. Records in the session's zones are deleted with the zones.
    mutating func willDelete(_ name: String, in destination: Destination) {
        records.append((destination, name))
    }

    /// Deletes a subscription when the session ends.
    mutating func willDelete(subscription id: String, in destination: Destination) {
        subscriptions.append((destination, id))
    }

    /// Deletes a zone when the session ends.
    mutating func willDelete(zone: Destination) {
        zones.append(zone)
    }
}

// MARK: - Requests

/// A request of a rule, before credentials are added.
struct ContractRequest: Sendable {
    var method = HTTPRequest.Method.post
    /// The path from `/database` on, percent-encoded, without credentials.
    var path: String
    var query: [(name: String, value: String)] = []
    var headers: HTTPFields = [.contentType: "application/json"]
    var body: [UInt8]?
    var identity: Destination.Identity
    /// The web authentication token to send instead of the identity's own.
    var webAuthToken: String?
    /// The API token to send instead of the target's own.
    var apiToken: String?
    /// Changes a signed request, before or after the signature is made.
    var signing = Signing()

    struct Signing: Sendable {
        /// The date to sign, and to send.
        var date = ContractSigner.text(of: Date())
        /// The text to sign instead of the body's hash.
        var hash: String?
        /// Whether to send r and s as they are, not as DER.
        var isRaw = false
        /// Changes the request after it was signed.
        var tamper: (@Sendable (inout HTTPRequest, inout [UInt8]) -> Void)?
    }

    var description: String {
        let query = self.query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        let line = "\(method) \(path)" + (query.isEmpty ? "" : "?\(query)")
        return line + (body.map { " " + String(decoding: $0.prefix(2000), as: UTF8.self) } ?? "")
    }
}

extension ContractSession {
    /// The path of an endpoint of a destination's database.
    func path(_ endpoint: String, in destination: Destination) -> String {
        "/database/1/\(target.containerIdentifier)/\(target.environment)/\(destination.scope)/\(endpoint)"
    }

    func post(_ endpoint: String, _ body: JSONValue, in destination: Destination) async throws -> ContractReply {
        try await send(try request(endpoint, body, in: destination))
    }

    func get(_ endpoint: String, in destination: Destination) async throws -> ContractReply {
        var request = try request(endpoint, nil, in: destination)
        request.method = .get
        return try await send(request)
    }

    /// A POST that can still be changed before it is sent.
    func request(_ endpoint: String, _ body: JSONValue?, in destination: Destination) throws -> ContractRequest {
        ContractRequest(
            path: path(endpoint, in: destination),
            body: try body.map { try JSONWriter.bytes(of: $0) },
            identity: destination.identity
        )
    }

    func send(_ request: ContractRequest) async throws -> ContractReply {
        var query = request.query
        if request.identity != .anonymous && request.identity != .serverKey {
            query.append(("ckAPIToken", request.apiToken ?? target.apiToken))
        }
        let webAuthToken =
            switch request.identity {
            case .user: request.webAuthToken ?? target.user?.webAuthToken
            case .secondUser: request.webAuthToken ?? target.secondUser?.webAuthToken
            case .anonymous, .apiToken, .serverKey: request.webAuthToken
            }
        if let webAuthToken { query.append(("ckWebAuthToken", webAuthToken)) }
        var path = request.path
        if !query.isEmpty {
            path += "?" + query.map { "\($0.name)=\(percentEncoded($0.value))" }.joined(separator: "&")
        }
        var http = HTTPRequest(method: request.method, scheme: nil, authority: nil, path: path)
        http.headerFields = request.headers
        var body = request.body ?? []
        if request.identity == .serverKey, let key = target.serverKey {
            try sign(&http, body: &body, path: path, by: ContractSigner(key), as: request.signing)
        }
        if target.indexDelay > .zero, request.path.hasSuffix("records/query") {
            try await Task.sleep(for: target.indexDelay)
        }
        let (response, responseBody) = try await target.transport.send(
            http,
            body: request.body == nil ? nil : HTTPBody(body),
            baseURL: target.serverURL,
            operationID: "contract"
        )
        let bytes: [UInt8] =
            if let responseBody { try await Array(collecting: responseBody, upTo: 1 << 26) } else { [] }
        return ContractReply(
            request: request.description,
            status: response.status.code,
            headers: response.headerFields,
            bytes: bytes,
            comparesReasons: target.comparesReasons
        )
    }

    private func sign(
        _ request: inout HTTPRequest,
        body: inout [UInt8],
        path: String,
        by signer: ContractSigner,
        as signing: ContractRequest.Signing
    ) throws {
        let signature = try signer.sign(
            hash: signing.hash ?? ContractSigner.hash(of: body),
            subpath: path,
            date: signing.date,
            isRaw: signing.isRaw
        )
        request.headerFields[.cloudKitKeyID] = signature.keyID
        request.headerFields[.cloudKitDate] = signature.date
        request.headerFields[.cloudKitSignature] = signature.signature
        signing.tamper?(&request, &body)
    }

    /// A query value, with everything except the unreserved characters encoded, as encodeURIComponent does it.
    private func percentEncoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }
}

extension HTTPField.Name {
    static let cloudKitKeyID = HTTPField.Name("X-Apple-CloudKit-Request-KeyID")!
    static let cloudKitDate = HTTPField.Name("X-Apple-CloudKit-Request-ISO8601Date")!
    static let cloudKitSignature = HTTPField.Name("X-Apple-CloudKit-Request-SignatureV1")!
    static let cloudKitWebAuthToken = HTTPField.Name("X-Apple-CloudKit-Web-Auth-Token")!
    static let cloudKitVersion = HTTPField.Name("X-Apple-CloudKit-Version")!
    static let requestUUID = HTTPField.Name("X-Apple-Request-UUID")!
}
