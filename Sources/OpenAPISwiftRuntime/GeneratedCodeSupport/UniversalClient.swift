public import HTTPTypes
public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The common part of every generated client. It encodes the input, runs middlewares and transport, decodes the output,
/// and throws errors that say which step failed.
@_spi(Generated) public struct UniversalClient: Sendable {
    private let serverURL: URL
    private let configuration: Configuration
    private let transport: any ClientTransport
    private let middlewares: [any ClientMiddleware]

    /// Creates a client.
    public init(
        serverURL: URL,
        configuration: Configuration,
        transport: any ClientTransport,
        middlewares: [any ClientMiddleware]
    ) {
        self.serverURL = serverURL
        self.configuration = configuration
        self.transport = transport
        self.middlewares = middlewares
    }

    /// Calls one operation and reads the response.
    ///
    /// Every failure is thrown as ``ClientError``. If a middleware throws a ``ClientError``, it is passed on, with the
    /// input added.
    public func send<Input: Sendable, Output: Sendable>(
        _ input: Input,
        operationID: String,
        method: HTTPRequest.Method,
        encode: (Input, inout ClientRequest) throws -> Void,
        decode: (ClientResponse) throws -> Output
    ) async throws -> Output {
        let received = try await receiveResponse(to: input, operationID: operationID, method: method, encode: encode)
        do {
            return try await received.response.decoded(decode)
        } catch {
            throw received.call.unreadableResponse(error)
        }
    }

    /// Calls one operation and reads the response, except a body that the caller reads.
    ///
    /// Failures are thrown as in ``send(_:operationID:method:encode:decode:)``, also those of reading the body later.
    public func sendBuffered<Input: Sendable, Output: Sendable>(
        _ input: Input,
        operationID: String,
        method: HTTPRequest.Method,
        encode: (Input, inout ClientRequest) throws -> Void,
        decode: (ClientResponse, BufferedBody.Call) throws -> Output
    ) async throws -> Output {
        let received = try await receiveResponse(to: input, operationID: operationID, method: method, encode: encode)
        do {
            let call = BufferedBody.Call(received.call, configuration: configuration)
            return try await received.response.decoded { try decode($0, call) }
        } catch {
            throw received.call.unreadableResponse(error)
        }
    }

    private func receiveResponse<Input: Sendable>(
        to input: Input,
        operationID: String,
        method: HTTPRequest.Method,
        encode: (Input, inout ClientRequest) throws -> Void
    ) async throws -> (response: ClientResponse, call: ClientCall) {
        var call = ClientCall(operationID: operationID, input: input, baseURL: serverURL)
        var message = ClientRequest(configuration: configuration)
        do {
            try encode(input, &message)
        } catch {
            throw call.failure("The request could not be encoded", error)
        }
        let request = message.request(method: method)
        call.request = request
        call.requestBody = message.body

        let response: HTTPResponse
        let responseBody: HTTPBody?
        do {
            (response, responseBody) = try await Self.send(
                request,
                body: message.body,
                baseURL: serverURL,
                operationID: operationID,
                through: middlewares[...],
                to: transport,
                in: call
            )
        } catch {
            throw call.failure("The request failed", error)
        }
        call.response = response
        call.responseBody = responseBody
        return (ClientResponse(response: response, body: responseBody, configuration: configuration), call)
    }

    /// Sends a request through the middlewares.
    ///
    /// An error of the transport or of a middleware reaches the middlewares around it as the underlying error of a
    /// ``ClientError``.
    private static func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        through middlewares: ArraySlice<any ClientMiddleware>,
        to transport: any ClientTransport,
        in call: ClientCall
    ) async throws -> (HTTPResponse, HTTPBody?) {
        guard let middleware = middlewares.first else {
            do {
                return try await transport.send(request, body: body, baseURL: baseURL, operationID: operationID)
            } catch {
                throw call.failure("The transport threw an error", error)
            }
        }
        do {
            return try await middleware.intercept(
                request,
                body: body,
                baseURL: baseURL,
                operationID: operationID,
                next: { (request: HTTPRequest, body: HTTPBody?, baseURL: URL) in
                    try await send(
                        request,
                        body: body,
                        baseURL: baseURL,
                        operationID: operationID,
                        through: middlewares.dropFirst(),
                        to: transport,
                        in: call
                    )
                }
            )
        } catch {
            throw call.failure("The middleware \(type(of: middleware)) threw an error", error)
        }
    }
}

/// The method of a request for which HTTPTypes has no constant.
@_spi(Generated) public func requestMethod(_ token: String) throws -> HTTPRequest.Method {
    guard let method = HTTPRequest.Method(token) else { throw GeneratedCodeError.malformedMethod(token) }
    return method
}

/// A request that generated code writes.
@_spi(Generated) public struct ClientRequest: WritableMessage {
    /// The header fields so far.
    public var headerFields = HTTPFields()
    /// The body so far.
    public var body: HTTPBody?
    /// How values are written.
    public let configuration: Configuration
    private var path: String = ""
    private var query: String = ""

    init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// Any content type may be sent.
    public func checkContentType(_ contentType: String) throws {}

    func request(method: HTTPRequest.Method) -> HTTPRequest {
        HTTPRequest(
            method: method,
            scheme: nil,
            authority: nil,
            path: query.isEmpty ? path : "\(path)?\(query)",
            headerFields: headerFields
        )
    }

    /// Adds text of the path that is not a placeholder.
    public mutating func addPath(_ text: String) {
        path += text
    }

    /// Adds a placeholder's text to the path.
    ///
    /// It never throws; it is declared `throws` because generated code writes `try` before every placeholder.
    public mutating func addPath(parameter text: String) throws {
        path += PercentEncoding.encode(text)
    }

    /// Adds a placeholder's value to the path.
    public mutating func addPath<T: JSONWritable>(parameter value: T) throws {
        try addPath(parameter: value) { value, writer in value.write(json: &writer) }
    }

    /// Adds a placeholder's value to the path, which a closure writes.
    public mutating func addPath<T>(parameter value: T, _ write: (T, inout JSONWriter) -> Void) throws {
        try addPath(parameter: value, write, style: .simple)
    }

    /// Adds a placeholder's value to the path. The style is `simple` or `json`.
    public mutating func addPath<T: JSONWritable>(parameter value: T, style: ParameterStyle) throws {
        try addPath(
            parameter: value,
            { value, writer in value.write(json: &writer) },
            style: style
        )
    }

    /// Adds a placeholder's value, which a closure writes, to the path. The style is `simple` or `json`.
    public mutating func addPath<T>(
        parameter value: T,
        _ write: (T, inout JSONWriter) -> Void,
        style: ParameterStyle
    ) throws {
        path += try ParameterEncoder.simple(parts(of: value, style: style, write), named: path)
    }

    /// Adds a placeholder's value to the path. The style is `matrix` or `label`.
    public mutating func addPath<T: JSONWritable>(
        parameter value: T,
        named name: String,
        style: ParameterStyle,
        explode: Bool
    ) throws {
        try addPath(
            parameter: value,
            { value, writer in value.write(json: &writer) },
            named: name,
            style: style,
            explode: explode
        )
    }

    /// Adds a placeholder's value, which a closure writes, to the path. The style is `matrix` or `label`.
    public mutating func addPath<T>(
        parameter value: T,
        _ write: (T, inout JSONWriter) -> Void,
        named name: String,
        style: ParameterStyle,
        explode: Bool
    ) throws {
        let parts = try parts(of: value, style: style, write)
        path += try ParameterEncoder.prefixed(parts, named: name, style: style, explode: explode)
    }

    func parts<T>(of value: T, style: ParameterStyle, _ write: (T, inout JSONWriter) -> Void) throws -> ParameterValue {
        guard style == .json else {
            return try ParameterEncoder.value(of: value, dates: configuration.dates, write)
        }
        let json = try ParameterEncoder.json(of: value, dates: configuration.dates, write)
        return .text(String(decoding: json, as: UTF8.self))
    }

    /// Adds a parameter of the query, or a cookie, unless the value is `nil`.
    public mutating func add<T: JSONWritable>(
        _ location: ItemLocation,
        _ name: String,
        _ value: T?,
        style: ParameterStyle = .form,
        explode: Bool = true
    ) throws {
        try add(location, name, value, { value, writer in value.write(json: &writer) }, style: style, explode: explode)
    }

    /// Adds a parameter of the query, or a cookie, whose value a closure writes, unless the value is `nil`.
    ///
    /// By default, each of several values and each member becomes one item.
    public mutating func add<T>(
        _ location: ItemLocation,
        _ name: String,
        _ value: T?,
        _ write: (T, inout JSONWriter) -> Void,
        style: ParameterStyle = .form,
        explode: Bool = true
    ) throws {
        guard let value else { return }
        let parts = try parts(of: value, style: style, write)
        for item in try ParameterEncoder.items(parts, named: name, style: style, explode: explode) {
            switch location {
            case .query: query += query.isEmpty ? item : "&\(item)"
            case .cookie: headerFields[.cookie] = headerFields[.cookie].map { "\($0); \(item)" } ?? item
            }
        }
    }

    /// Makes the members of a value the whole query, URL-encoded as a form, unless the value is `nil`.
    public mutating func setFormQuery<T: JSONWritable>(_ value: T?, styles: [String: FormMemberStyle] = [:]) throws {
        try setFormQuery(
            value,
            { value, writer in value.write(json: &writer) },
            styles: styles
        )
    }

    /// Makes the members of a value that a closure writes the whole query, URL-encoded as a form, unless the value is
    /// `nil`.
    public mutating func setFormQuery<T>(
        _ value: T?,
        _ write: (T, inout JSONWriter) -> Void,
        styles: [String: FormMemberStyle] = [:]
    ) throws {
        guard let value else { return }
        let dates = configuration.dates
        query = String(decoding: try FormText.bytes(of: value, dates: dates, write, styles: styles), as: UTF8.self)
    }

    /// Makes the JSON of a value the whole query, percent-encoded, unless the value is `nil`.
    public mutating func setJSONQuery<T: JSONWritable>(_ value: T?) throws {
        try setJSONQuery(value) { value, writer in value.write(json: &writer) }
    }

    /// Makes the JSON of a value that a closure writes the whole query, percent-encoded, unless the value is `nil`.
    public mutating func setJSONQuery<T>(_ value: T?, _ write: (T, inout JSONWriter) -> Void) throws {
        guard let value else { return }
        let json = try ParameterEncoder.json(of: value, dates: configuration.dates, write)
        query = PercentEncoding.encode(String(decoding: json, as: UTF8.self))
    }

    /// Sets the Accept header.
    public mutating func setAccept<T: AcceptableProtocol>(_ types: [AcceptHeaderContentType<T>]) {
        switch types.count {
        case 0: break
        case 1: headerFields[.accept] = types[0].rawValue
        default: headerFields[.accept] = types.map { $0.rawValue }.joined(separator: ", ")
        }
    }
}

/// A response that generated code reads.
@_spi(Generated) public struct ClientResponse: ReadableMessage, Sendable {
    private let response: HTTPResponse
    /// The body, if there is one.
    public var body: HTTPBody?
    /// How values are read.
    public let configuration: Configuration

    init(response: HTTPResponse, body: HTTPBody?, configuration: Configuration) {
        self.response = response
        self.body = body
        self.configuration = configuration
    }

    /// The header fields.
    public var headerFields: HTTPFields { response.headerFields }
    /// The status.
    public var statusCode: Int { response.status.code }
    /// The response with a collected body, which the caller reads. A missing body counts as an empty one.
    public func buffered<Headers: Sendable>(
        _ contentType: String,
        headers: Headers,
        for call: BufferedBody.Call
    ) throws -> BufferedResponse<Headers> {
        try requireContentType(contentType)
        return BufferedResponse(
            headers: headers,
            body: BufferedBody(bytes: body == nil ? [] : try bufferedBody(), call: call)
        )
    }

    /// The payload of a response that the document does not describe.
    public var undocumentedPayload: UndocumentedPayload {
        UndocumentedPayload(headerFields: response.headerFields, body: body)
    }
}
