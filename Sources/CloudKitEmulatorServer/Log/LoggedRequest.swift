import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitModel
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON

extension RequestLog.Entry {
    /// The request on one line of a list.
    var summary: Components.Schemas.AnsweredRequest {
        let contents = trace.contents
        return .init(
            number: number,
            timestamp: time.milliseconds,
            method: request.method.rawValue,
            path: pathWithoutCredentials ?? String((request.path ?? "/").prefix { $0 != "?" }.prefix(1024)),
            status: response?.status.code,
            milliseconds: duration / .milliseconds(1),
            requestUUID: response?.headerFields[.requestUUID],
            endpoint: isEndpoint
                ? (request.path ?? "/").prefix { $0 != "?" }.split(separator: "/").suffix(2).joined(separator: "/")
                : nil,
            identity: contents.caller?.identity,
            serverErrorCode: trace.refusals.notes.last { $0.item == nil }?.error.serverErrorCode.rawValue,
            fault: contents.fault?.description,
            requestBytes: contents.body?.count,
            replyBytes: response?.headerFields[.contentLength].flatMap { Int($0) } ?? bodies?.reply?.count
        )
    }

    /// The request with its bodies, without credentials.
    func details(refusals: [Components.Schemas.Refusal]) -> Components.Schemas.LoggedRequest {
        let target = request.path ?? "/"
        let query = target.utf8.firstIndex(of: UInt8(ascii: "?")).map { target[target.utf8.index(after: $0)...] }
        let isWhole = bodies.map { $0.request != nil && ($0.reply != nil || replyIsEmpty) } ?? false
        return .init(
            summary: summary,
            query: Redaction.query(String(query ?? "")),
            requestFields: .init(additionalProperties: Redaction.fields(request.headerFields)),
            requestBody: bodies?.request.flatMap(Redaction.body),
            replyFields: .init(additionalProperties: Redaction.fields(response?.headerFields ?? [:])),
            replyBody: bodies?.reply.flatMap(Redaction.body),
            isComplete: isWhole,
            refusals: refusals
        )
    }

    private var replyIsEmpty: Bool { response?.headerFields[.contentLength] == "0" || response == nil }
}

extension Caller {
    /// The caller as the log, fault rules and `X-MistKit-Act-As` name it.
    var identity: String {
        switch self {
        case .anonymous: "nobody"
        case .serverKey: "server"
        case .user(let name): name
        }
    }
}

/// Replaces credentials in what the log shows.
enum Redaction {
    private static let mark = "<redacted>"
    private static let queryItems: Set<String> = ["ckAPIToken", "ckWebAuthToken", "ckSession", "oauth_token", "secret"]
    /// In lower case.
    private static let fieldNames: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-apple-cloudkit-web-auth-token",
        "x-apple-cloudkit-request-signaturev1",
    ]
    /// The members of JSON that are credentials, or addresses that are valid without further ones.
    private static let members: Set<String> = [
        "ckAPIToken", "ckWebAuthToken", "ckSession", "webAuthToken", "apiToken", "apnsToken", "webcourierURL",
        "redirectURL", "downloadURL", "url", "receipt", "wrappingKey",
    ]

    static func query(_ text: String) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false).map { item in
            let name = item.prefix { $0 != "=" }
            guard name.count < item.count, queryItems.contains(PercentEncoding.decode(String(name))) else {
                return String(item)
            }
            return "\(name)=\(mark)"
        }.joined(separator: "&")
    }

    static func fields(_ fields: HTTPFields) -> [String: String] {
        var values: [String: String] = [:]
        for field in fields {
            let value = fieldNames.contains(field.name.canonicalName) ? mark : field.value
            values[field.name.rawName] = values[field.name.rawName].map { "\($0), \(value)" } ?? value
        }
        return values
    }

    /// The text of a body; `nil` where it is empty or is not JSON. Nothing else is shown: where the credentials are in
    /// another text is not known.
    static func body(_ bytes: ArraySlice<UInt8>) -> String? {
        guard !bytes.isEmpty, let value = try? JSONReader.read(JSONValue.self, from: Array(bytes)) else { return nil }
        return (try? JSONWriter.bytes(of: redacted(value), options: [.sortedKeys])).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    private static func redacted(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map(redacted))
        case .object(let object):
            var result = object
            for (name, value) in object {
                result[name] =
                    if case .string = value, members.contains(name) { .string(mark) } else { redacted(value) }
            }
            return .object(result)
        default: return value
        }
    }
}
