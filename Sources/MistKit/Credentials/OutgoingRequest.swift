import Crypto
public import HTTPTypes
public import OpenAPISwiftRuntime

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// One attempt of a request, as a ``TokenManager`` sees it: complete except for the credentials.
///
/// ## Topics
///
/// ### What is sent
/// - ``operationID``
/// - ``method``
/// - ``target``
/// - ``subpath``
/// - ``headerFields``
/// - ``bodyDigest()``
///
/// ### Adding credentials
/// - ``addCredential(queryItem:value:)``
/// - ``addCredential(headerField:value:)``
/// - ``addHeaderField(_:value:)``
/// - ``session``
///
/// ### What the caller allows
/// - ``allowsSignIn``
public struct OutgoingRequest: Sendable {
    /// The operation's name in the protocol's OpenAPI document, such as `queryRecords`.
    public let operationID: String

    /// A number that the manager gets back with the response. A manager whose credentials can change while requests are
    /// under way sets it, to know which credentials a response belongs to.
    public var session: UInt64 = 0

    /// Whether a person may be asked to sign in for this request; see ``CloudKitService/allowsSignIn``.
    public let allowsSignIn: Bool

    private(set) var request: HTTPRequest
    private(set) var body: HTTPBody?
    private(set) var redactor = Redactor()
    let baseURL: URL

    /// Makes an attempt from the request for the transport, for tests of a token manager.
    ///
    /// - Parameters:
    ///   - request: The request, its path relative to `baseURL`.
    ///   - body: The body, if there is one.
    ///   - baseURL: The server's address; the path in it goes in front of the request's.
    ///   - operationID: The operation's name.
    ///   - allowsSignIn: Whether a person may be asked to sign in.
    public init(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        allowsSignIn: Bool = true
    ) {
        self.request = request
        self.body = body
        self.operationID = operationID
        self.allowsSignIn = allowsSignIn
        self.baseURL = baseURL
    }

    /// The method on the request line.
    public var method: HTTPRequest.Method { request.method }

    /// Path and query exactly as they go on the request line, percent-encoded.
    public var target: String { baseURL.requestTarget(appending: request.path) }

    /// Path and query from `/database` or `/device` on, which the signature of a server-to-server key covers.
    ///
    /// In Apple's reference, the subpath begins there. A path in the server's address belongs to a proxy in front of
    /// the service. The proxy removes it, so the service never sees it.
    public var subpath: String { request.path ?? "/" }

    /// The header fields, also those that ``addCredential(headerField:value:)`` added.
    public var headerFields: HTTPFields { request.headerFields }

    /// The SHA-256 of the body's bytes, or of no bytes if there is no body.
    ///
    /// A body that can be read only once is read into memory, and sent from there.
    ///
    /// - Returns: 32 bytes.
    /// - Throws: ``CloudKitError/Code-swift.struct/signing`` when the body cannot be read.
    public mutating func bodyDigest() async throws(CloudKitError) -> [UInt8] {
        guard let body else { return Array(SHA256.hash(data: [UInt8]())) }
        var hash = SHA256()
        var kept: [UInt8] = []
        do {
            for try await chunk in body {
                hash.update(data: chunk)
                if body.iterationBehavior == .single { kept += chunk }
            }
        } catch {
            if error is CancellationError { throw CloudKitError.cancelled(operation: operationID) }
            throw CloudKitError(
                code: .signing,
                message: "The body of the request could not be read to sign it.",
                cause: error
            )
        }
        if body.iterationBehavior == .single { self.body = HTTPBody(kept) }
        return Array(hash.finalize())
    }

    /// Appends a credential to the query, percent-encoded once; `+`, `/` and `=` are encoded, too.
    ///
    /// The value is removed from every error text of this request, and no log shows it.
    ///
    /// ```swift
    /// request.addCredential(queryItem: "ckWebAuthToken", value: "a+b/c=")
    /// // ...?ckWebAuthToken=a%2Bb%2Fc%3D
    /// ```
    ///
    /// - Parameters:
    ///   - name: The item's name.
    ///   - value: The item's value, not encoded.
    public mutating func addCredential(queryItem name: String, value: String) {
        let path = request.path ?? "/"
        let encoded = PercentEncoding.encode(value)
        request.path = path + (path.contains("?") ? "&" : "?") + PercentEncoding.encode(name) + "=" + encoded
        redactor.hide(value)
        redactor.hide(encoded)
    }

    /// Sets a header field to a credential.
    ///
    /// The value is removed from every error text of this request, no log shows it, and HTTP/2 does not put it in its
    /// compression table.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    public mutating func addCredential(headerField name: HTTPField.Name, value: String) {
        var field = HTTPField(name: name, value: value)
        field.indexingStrategy = .disallow
        request.headerFields[fields: name] = [field]
        redactor.hide(value)
    }

    /// Sets a header field that is not a credential, such as a date.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    public mutating func addHeaderField(_ name: HTTPField.Name, value: String) {
        request.headerFields[name] = value
    }
}
