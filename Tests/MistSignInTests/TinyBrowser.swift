import Foundation
import HTTPTypes
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftRuntime

/// A browser without a window: it follows redirects, keeps the cookies of each host, and sends forms.
final class TinyBrowser {
    struct Page {
        var url: URL
        var status: Int
        var text: String

        /// The value of a `name="..."` attribute pair in a form.
        func value(ofField name: String) -> String? {
            text.components(separatedBy: "name=\"\(name)\" value=\"").dropFirst().first?
                .components(separatedBy: "\"").first
        }

        /// The text between two others.
        func text(after start: String, before end: String) -> String? {
            text.components(separatedBy: start).dropFirst().first?.components(separatedBy: end).first
        }
    }

    private let transport = AsyncHTTPClientTransport()
    /// The cookies of each host. Cookies do not depend on the port.
    private var cookies: [String: [String: String]] = [:]

    func get(_ url: URL, host: String? = nil, referer: String? = nil) async throws -> Page {
        var fields: HTTPFields = [:]
        fields[.host] = host
        fields[.referer] = referer
        return try await send(.get, url, fields: fields)
    }

    func post(_ url: URL, _ form: [String: String], origin: String? = nil) async throws -> Page {
        let body = form.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
        return try await send(.post, url, fields: origin.map { [.origin: $0] } ?? [:], body: body)
    }

    private func send(
        _ method: HTTPRequest.Method,
        _ url: URL,
        fields: HTTPFields,
        body: String? = nil
    ) async throws -> Page {
        let path = url.path(percentEncoded: true) + (url.query(percentEncoded: true).map { "?\($0)" } ?? "")
        var request = HTTPRequest(method: method, scheme: nil, authority: nil, path: path)
        request.headerFields = fields
        let host = url.host() ?? ""
        if let jar = cookies[host], !jar.isEmpty {
            request.headerFields[.cookie] = jar.map { "\($0)=\($1)" }.joined(separator: "; ")
        }
        var components = URLComponents()
        (components.scheme, components.host, components.port) = (url.scheme, host, url.port)
        guard let base = components.url else { throw URLError(.badURL) }
        let (response, responseBody) = try await transport.send(
            request,
            body: body.map { HTTPBody($0) },
            baseURL: base,
            operationID: "browse"
        )
        for field in response.headerFields[fields: .setCookie] {
            let pair = field.value.split(separator: ";")[0].split(separator: "=", maxSplits: 1)
            cookies[host, default: [:]][String(pair[0])] = String(pair[1])
        }
        if (300..<400).contains(response.status.code), let location = response.headerFields[.location],
            let next = URL(string: location)
        {
            return try await send(.get, next, fields: [:])
        }
        let bytes =
            if let responseBody { try await [UInt8](collecting: responseBody, upTo: 1 << 20) } else { [UInt8]() }
        return Page(url: url, status: response.status.code, text: String(decoding: bytes, as: UTF8.self))
    }
}

extension HTTPField.Name {
    static let host = Self("Host")!
    static let referer = Self("Referer")!
}
