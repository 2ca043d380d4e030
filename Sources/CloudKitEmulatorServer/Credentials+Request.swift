import CloudKitEmulator
import HTTPTypes
import OpenAPISwiftRuntime

extension Credentials {
    /// Takes the credentials from a request. What is empty counts as absent.
    init(of request: HTTPRequest, body: ArraySlice<UInt8>) {
        self.init()
        let target = request.path ?? "/"
        if let query = target.firstIndex(of: "?") {
            for item in target[target.index(after: query)...].split(separator: "&") {
                let equals = item.firstIndex(of: "=") ?? item.endIndex
                switch item[..<equals] {
                case "ckAPIToken": apiToken = value(item[equals...])
                case "ckWebAuthToken": webAuthToken = value(item[equals...])
                default: break
                }
            }
        }
        let fields = request.headerFields
        let parts = [fields[.cloudKitKeyID], fields[.cloudKitDate], fields[.cloudKitSignature]]
        // One of the three alone is meant as a signature as well, and does not hold.
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

/// The value of a query item, from its `=` on.
///
/// A plus sign that is not encoded is a space, as servers read queries. So a web token that was not encoded at all does not
/// hold, just as one that was encoded twice.
private func value(_ text: Substring) -> String? {
    let text = String(text.dropFirst().map { $0 == "+" ? " " : $0 })
    return text.isEmpty ? nil : PercentEncoding.decode(text)
}

extension HTTPField.Name {
    static let cloudKitKeyID = Self("X-Apple-CloudKit-Request-KeyID")!
    static let cloudKitDate = Self("X-Apple-CloudKit-Request-ISO8601Date")!
    static let cloudKitSignature = Self("X-Apple-CloudKit-Request-SignatureV1")!
}
