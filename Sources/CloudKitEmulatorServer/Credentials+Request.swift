import CloudKitEmulator
import HTTPTypes
import OpenAPISwiftRuntime

extension Credentials {
    /// Reads the credentials of a request. Empty values count as absent.
    ///
    /// CloudKit JS 1.2.0 and clients of its time send the web authentication token as `ckSession`.
    init(of request: HTTPRequest, body: ArraySlice<UInt8>) {
        self.init()
        let target = request.path ?? "/"
        var session: String?
        for item in target.queryItems {
            if let text = item.value(of: "ckAPIToken=") { apiToken = text }
            if let text = item.value(of: "ckWebAuthToken=") { webAuthToken = text }
            if let text = item.value(of: "ckSession=") { session = text }
        }
        webAuthToken = webAuthToken ?? session
        let fields = request.headerFields
        let parts = [fields[.cloudKitKeyID], fields[.cloudKitDate], fields[.cloudKitSignature]]
        // One of the three fields alone counts as a signature as well, which is then not valid.
        guard parts.contains(where: { $0?.isEmpty == false }) else { return }
        signature = ServerKeySignature(
            keyID: parts[0] ?? "",
            date: parts[1] ?? "",
            body: Array(body),
            subpath: target,
            signature: parts[2] ?? ""
        )
    }
}

extension String {
    /// The parts of the query of a request's target, still percent-encoded.
    var queryItems: [Substring.UTF8View] {
        guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        return utf8[utf8.index(after: mark)...].split(separator: UInt8(ascii: "&"))
    }
}

extension Substring.UTF8View {
    /// The value of a query item that begins with a name and `=`; `nil` for other items and for no value.
    ///
    /// A plus sign that is not encoded is a space, as servers read queries. So a web authentication token is not valid
    /// when it was not encoded, or encoded twice.
    fileprivate func value(of name: StaticString) -> String? {
        let isNamed = name.withUTF8Buffer { starts(with: $0) }
        guard isNamed, count > name.utf8CodeUnitCount else { return nil }
        let text = Substring(dropFirst(name.utf8CodeUnitCount))
        guard text.utf8.contains(UInt8(ascii: "+")) else { return PercentEncoding.decode(text) }
        return PercentEncoding.decode(String(text.map { $0 == "+" ? " " : $0 }))
    }
}

extension HTTPField.Name {
    static let cloudKitKeyID = Self("X-Apple-CloudKit-Request-KeyID")!
    static let cloudKitDate = Self("X-Apple-CloudKit-Request-ISO8601Date")!
    static let cloudKitSignature = Self("X-Apple-CloudKit-Request-SignatureV1")!
}
