import CloudKitModel
import Crypto
import Foundation
import HTTPTypes
import MistTesting
import StreamingJSON

/// The credentials of a raw request.
enum Sender: Hashable, Sendable, CaseIterable {
    case anonymous
    case apiToken
    case user
    case serverKey
}

/// A response with its body read as JSON.
struct Reply: Hashable {
    var status: Int
    var headerFields: HTTPFields
    /// The body, or `null` if there is none.
    var json: JSONValue

    init(_ response: RawResponse) throws {
        status = response.status.code
        headerFields = response.headerFields
        json = response.body.isEmpty ? .null : try JSONReader.read(JSONValue.self, from: response.body)
    }

    /// Status, code and reason of a failed response in one line: `404 NOT_FOUND could not find handler for endpoint`.
    var refusal: String {
        let parts = [json["serverErrorCode"]?.stringValue, json["reason"]?.stringValue]
        return (["\(status)"] + parts.map { $0 ?? "-" }).joined(separator: " ")
    }
}

extension RunningEmulator {
    /// Sends a POST with JSON to an endpoint.
    func post(
        _ endpoint: String,
        in scope: DatabaseScope = .public,
        as sender: Sender = .apiToken,
        query: String? = nil,
        headerFields: HTTPFields = [:],
        _ json: String
    ) async throws -> Reply {
        try await send(.post, path(endpoint, in: scope), as: sender, query, headerFields, Array(json.utf8))
    }

    /// Sends a GET to an endpoint.
    func get(
        _ endpoint: String,
        in scope: DatabaseScope = .public,
        as sender: Sender = .apiToken,
        query: String? = nil,
        headerFields: HTTPFields = [:]
    ) async throws -> Reply {
        try await send(.get, path(endpoint, in: scope), as: sender, query, headerFields)
    }

    /// Sends a request with a sender's credentials.
    func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        as sender: Sender,
        _ query: String? = nil,
        _ headerFields: HTTPFields = [:],
        _ body: [UInt8] = []
    ) async throws -> Reply {
        var items = query.map { [$0] } ?? []
        if sender == .apiToken || sender == .user { items.append("ckAPIToken=\(apiToken)") }
        if sender == .user { items.append("ckWebAuthToken=\(percentEncoded(webAuthToken))") }
        let target = items.isEmpty ? path : path + "?" + items.joined(separator: "&")
        var request = HTTPRequest(method: method, scheme: nil, authority: nil, path: target)
        request.headerFields = headerFields
        if sender == .serverKey { try sign(&request, body: body) }
        return try await Reply(send(request, body: body))
    }

    /// Signs a request with the server-to-server key, as Apple's page describes it, without any code of MistKit.
    func sign(
        _ request: inout HTTPRequest,
        body: [UInt8],
        date: String = isoDate(Date()),
        hashesEmptyBody: Bool = true
    ) throws {
        let key = try P256.Signing.PrivateKey(pemRepresentation: serverKeyPEM)
        let digest = Data(SHA256.hash(data: body)).base64EncodedString()
        let hash = body.isEmpty && !hashesEmptyBody ? "" : digest
        let message = "\(date):\(hash):\(request.path ?? "")"
        let signature = try key.signature(for: Data(message.utf8)).derRepresentation.base64EncodedString()
        request.headerFields[.keyID] = serverKeyID
        request.headerFields[.date8601] = date
        request.headerFields[.signature] = signature
    }
}

/// A date as in `2026-01-01T00:00:00Z`.
func isoDate(_ date: Date) -> String {
    date.formatted(.iso8601)
}

/// The text with each character except letters and digits percent-encoded.
func percentEncoded(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
}

extension HTTPField.Name {
    static let keyID = Self("X-Apple-CloudKit-Request-KeyID")!
    static let date8601 = Self("X-Apple-CloudKit-Request-ISO8601Date")!
    static let signature = Self("X-Apple-CloudKit-Request-SignatureV1")!
    static let requestUUID = Self("X-Apple-Request-UUID")!
    static let nextWebAuthToken = Self("X-Apple-CloudKit-Web-Auth-Token")!
}

/// Runs a command, and returns its output. The task's thread stays free: a server may need it to respond to the
/// command.
func run(
    _ command: String,
    _ arguments: [String],
    input: String = ""
) async throws -> (status: Int32, output: String) {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
            continuation.resume(with: Result { try runAndWait(command, arguments, input: input) })
        }
    }
}

/// Whether a command can be run with these arguments.
func canRun(_ command: String, _ arguments: [String]) -> Bool {
    (try? runAndWait(command, arguments).status) == 0
}

private func runAndWait(
    _ command: String,
    _ arguments: [String],
    input: String = ""
) throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [command] + arguments
    let (standardInput, standardOutput) = (Pipe(), Pipe())
    process.standardInput = standardInput
    process.standardOutput = standardOutput
    process.standardError = FileHandle.nullDevice
    try process.run()
    standardInput.fileHandleForWriting.write(Data(input.utf8))
    try standardInput.fileHandleForWriting.close()
    let output = try standardOutput.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: output, as: UTF8.self))
}
