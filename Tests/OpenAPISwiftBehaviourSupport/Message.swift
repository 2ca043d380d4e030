package import HTTPTypes
package import OpenAPISwiftRuntime

/// A message in its HTTP form: a request of a generated client, or a response of a generated server.
package struct Message: Equatable, Sendable, CustomStringConvertible {
    /// Method and target of a request, or the status of a response.
    package var start: String
    /// The header fields by lower-case name.
    package var fields: [String: String]
    package var body: String?

    package init(start: String, fields: [String: String] = [:], body: String? = nil) {
        self.start = start
        self.fields = fields
        self.body = body
    }

    package init(start: String, _ headerFields: HTTPFields, _ content: HTTPBody?) async throws {
        self.init(start: start)
        for field in headerFields { fields[field.name.canonicalName] = headerFields[field.name] }
        if let content { body = try await text(content) }
    }

    package var description: String {
        let lines: [String] = fields.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        return ([start] + lines + ["", body ?? "(no body)"]).joined(separator: "\n")
    }
}

/// Something that a test expects is missing.
package struct Missing: Error {
    var what: String
}

/// The whole text of a body.
package func text(_ body: HTTPBody?) async throws -> String {
    guard let body else { throw Missing(what: "a body") }
    return try await String(collecting: body, upTo: 1 << 20)
}

/// The name of an enumeration's case.
package func caseName(_ value: Any) -> String {
    Mirror(reflecting: value).children.first?.label ?? "\(value)"
}

extension HTTPBody {
    /// A body of unknown length that arrives byte by byte and can be read once.
    package static func dripping(_ text: String) -> HTTPBody {
        let (bytes, continuation) = AsyncStream<ArraySlice<UInt8>>.makeStream()
        for byte in text.utf8 { continuation.yield([byte]) }
        continuation.finish()
        return HTTPBody(bytes, length: .unknown)
    }
}

extension HTTPField.Name {
    /// The name of a header field.
    package static func custom(_ name: String) throws -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { throw Missing(what: "the name of a header field") }
        return name
    }
}
