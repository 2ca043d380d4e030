/// The names of response statuses as cases.
enum StatusNames {
    static func caseName(_ status: ResponseStatus) -> String {
        switch status {
        case .default: "default"
        case .range(let digit): ranges[digit] ?? "range\(digit)"
        case .code(let code): codes[code] ?? "code\(code)"
        }
    }

    /// The name of a payload: the case with its first letter in upper case.
    static func typeName(_ status: ResponseStatus) -> String {
        let name = caseName(status)
        return name.prefix(1).uppercased() + name.dropFirst()
    }

    private static let ranges: [Int: String] = [
        1: "informational", 2: "successful", 3: "redirection", 4: "clientError", 5: "serverError",
    ]

    private static let codes: [Int: String] = [
        100: "continue", 101: "switchingProtocols", 103: "earlyHints", 200: "ok", 201: "created", 202: "accepted",
        203: "nonAuthoritativeInformation", 204: "noContent", 205: "resetContent", 206: "partialContent",
        300: "multipleChoices", 301: "movedPermanently", 302: "found", 303: "seeOther", 304: "notModified",
        307: "temporaryRedirect", 308: "permanentRedirect", 400: "badRequest", 401: "unauthorized", 403: "forbidden",
        404: "notFound", 405: "methodNotAllowed", 406: "notAcceptable", 407: "proxyAuthenticationRequired",
        408: "requestTimeout", 409: "conflict", 410: "gone", 411: "lengthRequired", 412: "preconditionFailed",
        413: "contentTooLarge", 414: "uriTooLong", 415: "unsupportedMediaType", 416: "rangeNotSatisfiable",
        417: "expectationFailed", 421: "misdirectedRequest", 422: "unprocessableContent", 425: "tooEarly",
        426: "upgradeRequired", 428: "preconditionRequired", 429: "tooManyRequests",
        431: "requestHeaderFieldsTooLarge", 451: "unavailableForLegalReasons", 500: "internalServerError",
        501: "notImplemented", 502: "badGateway", 503: "serviceUnavailable", 504: "gatewayTimeout",
        505: "httpVersionNotSupported", 511: "networkAuthenticationRequired",
    ]
}
