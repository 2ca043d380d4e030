public import HTTPTypes

/// A part of a multipart body as it is sent: header fields and bytes.
///
/// ```swift
/// MultipartRawPart(name: "notes", filename: "a \"b\".txt", headerFields: [.contentType: "text/plain"], body: "Hello")
/// // content-disposition: form-data; filename="a \"b\".txt"; name="notes"
/// // content-type: text/plain
/// //
/// // Hello
/// ```
public struct MultipartRawPart: Sendable, Hashable {
    /// The header fields of the part.
    public var headerFields: HTTPFields

    /// The bytes of the part.
    public var body: HTTPBody

    /// Creates a part of header fields and bytes.
    /// - Parameters:
    ///   - headerFields: The header fields; the name of the part is in `content-disposition`.
    ///   - body: The bytes.
    public init(headerFields: HTTPFields, body: HTTPBody) {
        self.headerFields = headerFields
        self.body = body
    }

    /// Creates a part of a form.
    /// - Parameters:
    ///   - name: The name of the part.
    ///   - filename: The name of the file that the bytes come from.
    ///   - headerFields: Other header fields; `content-disposition` is replaced.
    ///   - body: The bytes.
    public init(name: String?, filename: String? = nil, headerFields: HTTPFields, body: HTTPBody) {
        self.init(headerFields: headerFields, body: body)
        var disposition = ParameterizedValue("form-data")
        disposition["name"] = name
        disposition["filename"] = filename
        self.headerFields[.contentDisposition] = disposition.text
    }

    /// The name of the part, which is a parameter of its `content-disposition`.
    ///
    /// Setting the name keeps the other parameters. A line break in the name is written as `%0D%0A`.
    public var name: String? {
        get { disposition?["name"] }
        set { setParameter("name", newValue) }
    }

    /// The name of the file that the bytes come from, which is a parameter of the part's `content-disposition`.
    ///
    /// Do not use it as a path: it comes from the sender and may contain path separators. Reading prefers `filename*`
    /// (RFC 8187) if there is one. Setting the name keeps the other parameters.
    public var filename: String? {
        get { disposition?["filename"] }
        set { setParameter("filename", newValue) }
    }

    private var disposition: ParameterizedValue? {
        headerFields[.contentDisposition].flatMap { ParameterizedValue(parsing: $0) }
    }

    private mutating func setParameter(_ parameter: String, _ value: String?) {
        var disposition = disposition ?? ParameterizedValue("form-data")
        disposition[parameter] = value
        headerFields[.contentDisposition] = disposition.text
    }
}

/// A part of a multipart body that the document names.
public struct MultipartPart<Payload: Sendable & Hashable>: Sendable, Hashable {
    /// The content of the part, with its header fields if the document describes some.
    public var payload: Payload

    /// The name of the file that the content is of.
    public var filename: String?

    /// Creates a part.
    /// - Parameters:
    ///   - payload: The content.
    ///   - filename: The name of the file that the content is of.
    public init(payload: Payload, filename: String? = nil) {
        self.payload = payload
        self.filename = filename
    }
}

/// A part of a multipart body whose content the document describes, but which can have any name.
public struct MultipartDynamicallyNamedPart<Payload: Sendable & Hashable>: Sendable, Hashable {
    /// The content of the part.
    public var payload: Payload

    /// The name of the file that the content is of.
    public var filename: String?

    /// The name of the part.
    public var name: String?

    /// Creates a part.
    /// - Parameters:
    ///   - payload: The content.
    ///   - filename: The name of the file that the content is of.
    ///   - name: The name of the part.
    public init(payload: Payload, filename: String? = nil, name: String? = nil) {
        self.payload = payload
        self.filename = filename
        self.name = name
    }
}
