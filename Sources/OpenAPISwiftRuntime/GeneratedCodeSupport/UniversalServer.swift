public import HTTPTypes
public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The common part of every generated server. It registers operations, runs middlewares, decodes the input, calls the
/// handler, encodes the output, and throws errors that say which step failed.
@_spi(Generated) public struct UniversalServer<API: Sendable>: Sendable {
    private let serverURL: URL
    private let handler: API
    private let configuration: Configuration
    private let middlewares: [any ServerMiddleware]

    /// Creates a server around the implementation of an API.
    public init(serverURL: URL, handler: API, configuration: Configuration, middlewares: [any ServerMiddleware]) {
        self.serverURL = serverURL
        self.handler = handler
        self.configuration = configuration
        self.middlewares = middlewares
    }

    /// Registers one operation whose handler takes no context.
    public func register<Input: Sendable, Output: Sendable>(
        on transport: any ServerTransport,
        operationID: String,
        method: HTTPRequest.Method,
        path: String,
        decode: @escaping @Sendable (ServerRequest) throws -> Input,
        handle: @escaping @Sendable (API, Input) async throws -> Output,
        encode: @escaping @Sendable (Output, inout ServerResponse) throws -> Void
    ) throws {
        let operation: ServerOperation<Void> = operation(
            operationID: operationID,
            method: method,
            path: path,
            decode: decode,
            handle: { (handler, input, _) in try await handle(handler, input) },
            encode: encode
        )
        try operation.register(on: transport, context: .value(()))
    }

    /// One operation whose handler takes a context.
    public func operation<Input: Sendable, Output: Sendable, Context: Sendable>(
        operationID: String,
        method: HTTPRequest.Method,
        path: String,
        decode: @escaping @Sendable (ServerRequest) throws -> Input,
        handle: @escaping @Sendable (API, Input, Context) async throws -> Output,
        encode: @escaping @Sendable (Output, inout ServerResponse) throws -> Void
    ) -> ServerOperation<Context> {
        let template = prefix + path
        let handler = OperationHandler(
            operationID: operationID,
            template: template,
            handler: handler,
            configuration: configuration,
            decode: decode,
            handle: handle,
            encode: encode
        )
        let middlewares = middlewares
        return ServerOperation(id: operationID, method: method, path: template) { (request, body, metadata, context) in
            try await handler.run(request, body: body, metadata: metadata, context: context, through: middlewares[...])
        }
    }

    /// The path of the server's URL, empty for the root.
    private var prefix: String {
        let path = serverURL.path
        return path == "/" ? "" : path
    }
}

/// Handles the requests for one operation of a server.
private struct OperationHandler<API: Sendable, Context: Sendable, Input: Sendable, Output: Sendable>: Sendable {
    let operationID: String
    let template: String
    let handler: API
    let configuration: Configuration
    let decode: @Sendable (ServerRequest) throws -> Input
    let handle: @Sendable (API, Input, Context) async throws -> Output
    let encode: @Sendable (Output, inout ServerResponse) throws -> Void

    func run(
        _ request: HTTPRequest,
        body: HTTPBody?,
        metadata: ServerRequestMetadata,
        context: ContextSource<Context>,
        through middlewares: ArraySlice<any ServerMiddleware>
    ) async throws -> (HTTPResponse, HTTPBody?) {
        guard let middleware = middlewares.first else {
            return try await respond(to: request, body: body, metadata: metadata, context: context)
        }
        do {
            return try await middleware.intercept(
                request,
                body: body,
                metadata: metadata,
                operationID: operationID,
                next: { (request: HTTPRequest, body: HTTPBody?, metadata: ServerRequestMetadata) in
                    try await run(
                        request,
                        body: body,
                        metadata: metadata,
                        context: context,
                        through: middlewares.dropFirst()
                    )
                }
            )
        } catch let error as ServerError {
            throw error
        } catch {
            throw ServerError(
                operationID: operationID,
                request: request,
                requestBody: body,
                requestMetadata: metadata,
                causeDescription: "The middleware \(type(of: middleware)) threw an error",
                underlyingError: error
            )
        }
    }

    private func respond(
        to request: HTTPRequest,
        body: HTTPBody?,
        metadata: ServerRequestMetadata,
        context source: ContextSource<Context>
    ) async throws -> (HTTPResponse, HTTPBody?) {
        let call = ServerCall(operationID: operationID, request: request, body: body, metadata: metadata)
        let context: Context
        switch source {
        case .value(let value): context = value
        case .provider(let provide):
            do {
                context = try await provide(call)
            } catch {
                throw call.failure("The context could not be made", error)
            }
        }
        let input: Input
        do {
            let message = ServerRequest(
                request: request,
                body: body,
                metadata: metadata,
                template: template,
                configuration: configuration
            )
            input = try await message.decoded(decode)
        } catch {
            throw call.failure("The request could not be decoded", error, status: .badRequest)
        }
        let output: Output
        do {
            output = try await handle(handler, input, context)
        } catch {
            throw call.failure("The handler threw an error", error, input: input)
        }
        let accept = configuration.lenientReading.contains(.anyAccept) ? nil : request.headerFields[.accept]
        var response = ServerResponse(accept: accept, configuration: configuration)
        do {
            try encode(output, &response)
        } catch {
            throw call.failure("The response could not be encoded", error, input: input, output: output)
        }
        return (response.httpResponse, response.body)
    }
}

extension ServerCall {
    /// The error to throw for a failure. A ``ServerError`` is kept, with the input and output added. Another error
    /// becomes the underlying error, and decides the response if it is ``HTTPResponseConvertible``.
    ///
    /// - Parameters:
    ///   - step: The step that failed, in words.
    ///   - error: What it threw.
    ///   - status: The status of the response, unless the error decides it.
    ///   - input: The operation's input, once it was read.
    ///   - output: The operation's output, once the handler returned.
    /// - Returns: The error.
    fileprivate func failure(
        _ step: String,
        _ error: any Error,
        status: HTTPResponse.Status = .internalServerError,
        input: (any Sendable)? = nil,
        output: (any Sendable)? = nil
    ) -> ServerError {
        if var thrown = error as? ServerError {
            thrown.operationInput = thrown.operationInput ?? input
            thrown.operationOutput = thrown.operationOutput ?? output
            return thrown
        }
        let convertible = error as? any HTTPResponseConvertible
        return ServerError(
            operationID: operationID,
            request: request,
            requestBody: body,
            requestMetadata: metadata,
            operationInput: input,
            operationOutput: output,
            causeDescription: step,
            underlyingError: error,
            httpStatus: convertible?.httpStatus ?? status,
            httpHeaderFields: convertible?.httpHeaderFields ?? [:],
            httpBody: convertible?.httpBody
        )
    }
}

/// A request that generated code reads.
@_spi(Generated) public struct ServerRequest: ReadableMessage, Sendable {
    private let request: HTTPRequest
    /// The body, if there is one.
    public var body: HTTPBody?
    private let metadata: ServerRequestMetadata
    /// The path that the operation is registered with.
    private let template: String
    /// How values are read.
    public let configuration: Configuration

    /// The items of the query, or the error of reading it.
    private let queryItems: Result<[ParameterItem], any Error>

    init(
        request: HTTPRequest,
        body: HTTPBody?,
        metadata: ServerRequestMetadata,
        template: String,
        configuration: Configuration
    ) {
        let skipsEmptyItems = configuration.lenientReading.contains(.emptyQueryItems)
        queryItems = Result { try Self.queryItems(of: request, skippingEmptyItems: skipsEmptyItems) }
        self.request = request
        self.body = body
        self.metadata = metadata
        self.template = template
        self.configuration = configuration
    }

    /// The header fields.
    public var headerFields: HTTPFields { request.headerFields }

    /// Whether a request whose body has one documented content type may name another.
    public var mayHaveAnyContentType: Bool { configuration.lenientReading.contains(.anyContentType) }

    /// Whether there is a body to read.
    public var hasBody: Bool {
        guard let body else { return false }
        if let bytes = body.bufferedBytes { return !bytes.isEmpty }
        return body.length != .known(0)
    }

    // MARK: Path

    /// The value of a placeholder of the path.
    public func path<T: JSONReadable>(_ name: String, _ shape: ParameterShape, _ type: T.Type) throws -> T {
        try path(name, shape) { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) }
    }

    /// The value of a placeholder of the path, read with a closure.
    public func path<T>(
        _ name: String,
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) throws -> T {
        guard let text = metadata.pathParameters[name] else {
            throw GeneratedCodeError.missingPathParameter(name)
        }
        // The transport has decoded the percent-encoding.
        let encoded: Substring? = shape.isDivided ? encodedPath(name, text) : nil
        let parts = try ParameterDecoder.delimited(encoded ?? text, shape, named: name) {
            encoded == nil ? String($0) : PercentEncoding.decode($0)
        }
        return try ParameterDecoder.read(
            parts,
            shape,
            named: name,
            dates: configuration.dates,
            read
        )
    }

    /// The value of a placeholder of the path with the style `matrix` or `label`.
    public func path<T: JSONReadable>(
        _ name: String,
        _ shape: ParameterShape,
        _ type: T.Type,
        style: ParameterStyle,
        explode: Bool
    ) throws -> T {
        try path(
            name,
            shape,
            { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) },
            style: style,
            explode: explode
        )
    }

    /// The value of a placeholder of the path with the style `matrix` or `label`, read with a closure.
    public func path<T>(
        _ name: String,
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T,
        style: ParameterStyle,
        explode: Bool
    ) throws -> T {
        guard let text = metadata.pathParameters[name] else {
            throw GeneratedCodeError.missingPathParameter(name)
        }
        let encoded = encodedPath(name, text)
        let parts = try ParameterDecoder.prefixed(
            encoded ?? text,
            shape,
            named: name,
            style: style,
            explode: explode
        ) {
            encoded == nil ? String($0) : PercentEncoding.decode($0)
        }
        return try ParameterDecoder.read(parts, shape, named: name, dates: configuration.dates, read)
    }

    /// The text of a placeholder before the transport decoded it; `nil` if the decoded text is enough.
    ///
    /// In decoded text, a sign between two elements of a list looks like the same sign inside of an element. The text of
    /// the path is only used if it decodes to the transport's text: a middleware can have replaced the path, and a
    /// transport can decode paths in its own way.
    private func encodedPath(_ name: String, _ text: Substring) -> Substring? {
        guard text.unicodeScalars.contains(where: { [",", ".", ";", "="].contains($0) }), let path = request.path,
            path.utf8.contains(UInt8(ascii: "%"))
        else { return nil }
        var router = PathRouter<Void>()
        guard (try? router.add((), method: request.method, template: template)) != nil,
            let encoded = router.encodedParameters(request.method, path)?[name],
            PercentEncoding.decode(encoded) == text
        else { return nil }
        return encoded
    }

    // MARK: Query and cookies

    /// A parameter of the query, or a cookie, that may be missing.
    public func parameter<T: JSONReadable>(
        _ location: ItemLocation,
        _ name: String,
        _ shape: ParameterShape,
        _ type: T.Type,
        style: ParameterStyle = .form,
        explode: Bool = true
    ) throws -> T? {
        let read = { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) }
        return try parameter(location, name, shape, read, style: style, explode: explode)
    }

    /// A parameter of the query, or a cookie, that may be missing, read with a closure.
    public func parameter<T>(
        _ location: ItemLocation,
        _ name: String,
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T,
        style: ParameterStyle = .form,
        explode: Bool = true
    ) throws -> T? {
        let parts =
            switch location {
            case .query:
                try queryItems.get().parts(of: name, shape, style: style, explode: explode)?
                    .corrected(by: configuration.lenientReading, shape)
            case .cookie: try CookieText.parts(of: name, shape, style: style, explode: explode, in: headerFields)
            }
        guard let parts else { return nil }
        return try ParameterDecoder.read(parts, shape, named: name, dates: configuration.dates, read)
    }

    /// A required parameter of the query, or a required cookie.
    public func requiredParameter<T: JSONReadable>(
        _ location: ItemLocation,
        _ name: String,
        _ shape: ParameterShape,
        _ type: T.Type,
        style: ParameterStyle = .form,
        explode: Bool = true
    ) throws -> T {
        try parameter(location, name, shape, type, style: style, explode: explode)
            .required(name, in: location.rawValue)
    }

    /// A required parameter of the query, or a required cookie, read with a closure.
    public func requiredParameter<T>(
        _ location: ItemLocation,
        _ name: String,
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T,
        style: ParameterStyle = .form,
        explode: Bool = true
    ) throws -> T {
        try parameter(location, name, shape, read, style: style, explode: explode)
            .required(name, in: location.rawValue)
    }

    // MARK: The query as a whole

    /// The members of a form that is the whole query, which may be missing.
    public func formQuery<T: JSONReadable>(
        _ name: String,
        _ shape: ParameterShape,
        _ type: T.Type,
        styles: [String: FormMemberStyle] = [:]
    ) throws -> T? {
        guard hasQuery else { return nil }
        return try requiredFormQuery(name, shape, type, styles: styles)
    }

    /// The members of a form that is the whole query, which may be missing, read with a closure.
    public func formQuery<T>(
        _ name: String,
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T,
        styles: [String: FormMemberStyle] = [:]
    ) throws -> T? {
        guard hasQuery else { return nil }
        return try requiredFormQuery(name, shape, read, styles: styles)
    }

    /// The members of a form that is the whole query.
    public func requiredFormQuery<T: JSONReadable>(
        _ name: String,
        _ shape: ParameterShape,
        _ type: T.Type,
        styles: [String: FormMemberStyle] = [:]
    ) throws -> T {
        try requiredFormQuery(
            name,
            shape,
            { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) },
            styles: styles
        )
    }

    /// The members of a form that is the whole query, read with a closure.
    ///
    /// A form without members writes nothing, so a missing query counts as an empty form.
    public func requiredFormQuery<T>(
        _ name: String,
        _ shape: ParameterShape,
        _ read: (inout JSONReader) throws(JSONError) -> T,
        styles: [String: FormMemberStyle] = [:]
    ) throws -> T {
        let bytes = Array((Self.query(of: request) ?? "").utf8)
        return try FormText.read(
            bytes[...],
            shape,
            named: name,
            dates: configuration.dates,
            read,
            styles: styles
        )
    }

    /// JSON that is the whole query, which may be missing.
    public func jsonQuery<T: JSONReadable>(_ name: String, _ type: T.Type) throws -> T? {
        try jsonQuery(name) { (reader: inout JSONReader) throws(JSONError) -> T in try reader.read(T.self) }
    }

    /// JSON that is the whole query, which may be missing, read with a closure.
    public func jsonQuery<T>(_ name: String, _ read: (inout JSONReader) throws(JSONError) -> T) throws -> T? {
        guard hasQuery, let query = Self.query(of: request) else { return nil }
        return try ParameterDecoder.read(
            .text(PercentEncoding.decode(query)),
            .json,
            named: name,
            dates: configuration.dates,
            read
        )
    }

    /// JSON that is the whole query.
    public func requiredJSONQuery<T: JSONReadable>(_ name: String, _ type: T.Type) throws -> T {
        try jsonQuery(name, type).required(name, in: "query string")
    }

    /// JSON that is the whole query, read with a closure.
    public func requiredJSONQuery<T>(
        _ name: String,
        _ read: (inout JSONReader) throws(JSONError) -> T
    ) throws -> T {
        try jsonQuery(name, read).required(name, in: "query string")
    }

    private var hasQuery: Bool { Self.query(of: request)?.isEmpty == false }

    private static func query(of request: HTTPRequest) -> Substring? {
        guard let path = request.path, let mark = path.utf8.firstIndex(of: UInt8(ascii: "?")) else { return nil }
        let query = path[path.index(after: mark)...]
        return query.utf8.firstIndex(of: UInt8(ascii: "#")).map { query[..<$0] } ?? query
    }

    private static func queryItems(of request: HTTPRequest, skippingEmptyItems: Bool) throws -> [ParameterItem] {
        guard let query = query(of: request) else { return [] }
        return try query.utf8.split(separator: UInt8(ascii: "&")).compactMap { bytes in
            let item = Substring(bytes)
            guard let equals = item.utf8.firstIndex(of: UInt8(ascii: "=")) else {
                if skippingEmptyItems { return nil }
                throw GeneratedCodeError.malformedQuery(String(item))
            }
            return ParameterItem(
                name: PercentEncoding.decode(item[..<equals]),
                value: item[item.index(after: equals)...]
            )
        }
    }

    // MARK: Accept

    /// The content types that the client accepts; all documented ones if the request has no Accept header, or if it
    /// does not matter.
    public func accept<T: AcceptableProtocol>() throws -> [AcceptHeaderContentType<T>] {
        guard !configuration.lenientReading.contains(.anyAccept), let text = request.headerFields[.accept] else {
            return .defaultValues()
        }
        let entries = ContentType.entries(ofAccept: text)
        if entries.isEmpty { return .defaultValues() }
        return try entries.map { entry in
            guard let type = AcceptHeaderContentType<T>(rawValue: String(entry)) else {
                throw GeneratedCodeError.malformedAccept(text)
            }
            return type
        }
    }
}

/// A response that generated code writes.
@_spi(Generated) public struct ServerResponse: WritableMessage {
    /// The header fields so far.
    public var headerFields: HTTPFields = [:]
    /// The body so far.
    public var body: HTTPBody?
    /// How values are written.
    public let configuration: Configuration
    private let accept: String?
    private var statusCode = 200

    init(accept: String?, configuration: Configuration) {
        self.accept = accept
        self.configuration = configuration
    }

    var httpResponse: HTTPResponse {
        HTTPResponse(status: HTTPResponse.Status(code: statusCode), headerFields: headerFields)
    }

    /// Sets the status.
    public mutating func setStatus(_ code: Int) {
        statusCode = code
    }

    /// Sets the status, header fields and body of a response that the document does not describe.
    public mutating func setUndocumented(_ code: Int, _ payload: UndocumentedPayload) {
        statusCode = code
        headerFields = payload.headerFields
        body = payload.body
    }

    /// Refuses a content type that the client's Accept header excludes.
    public func checkContentType(_ contentType: String) throws {
        guard let accept, accept != "*/*" else { return }
        // The common case: the client accepts exactly the type that is sent.
        if contentType.utf8.prefix(while: { $0 != UInt8(ascii: ";") }).elementsEqual(accept.utf8) { return }
        guard let type = ContentType(contentType) else { return }
        let entries = ContentType.entries(ofAccept: accept)
        guard entries.isEmpty || entries.contains(where: { type.isAccepted(by: $0) }) else {
            throw GeneratedCodeError.notAcceptable(contentType)
        }
    }
}
