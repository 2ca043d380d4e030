import Foundation
import WebText

/// Rules for the meaning of a response, from its status and header fields only.
public enum ResponseRules {
    /// The meaning of a response.
    public enum Verdict: Sendable, Hashable {
        /// The body is the document.
        case document
        /// The document has not changed: the client has the newest version.
        case notModified
        /// The document is at another address, permanently or only for this request.
        case redirect(WebAddress, isPermanent: Bool)
        /// The request failed.
        case failure(FetchFailure)
    }

    /// Decides what a response means.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - location: The header field Location, which may be a relative reference.
    ///   - address: The address of the request.
    ///   - visited: The addresses of the earlier requests, the first one first.
    ///   - limit: The maximum number of redirects that are followed.
    /// - Returns: The meaning of the response.
    public static func verdict(
        status: Int,
        location: String?,
        at address: WebAddress,
        after visited: [WebAddress] = [],
        limit: Int
    ) -> Verdict {
        switch status {
        case 200...299: return .document
        case 304: return .notModified
        case 301, 302, 303, 307, 308: break
        case 410: return .failure(FetchFailure(.gone, "\(address) was removed (status 410).", status: 410))
        default:
            return .failure(FetchFailure(.status, "\(address) answers with status \(status).", status: status))
        }
        guard let location, let target = address.resolving(location) else {
            let value = location.map { "\"\($0)\"" } ?? "no address"
            let message = "\(address) redirects (status \(status)) to \(value), which is not an address of the web."
            return .failure(FetchFailure(.invalidRedirect, message, status: status))
        }
        if address.scheme == "https", target.scheme == "http" {
            let message = "\(address) redirects to \(target), which is not encrypted."
            return .failure(FetchFailure(.invalidRedirect, message, status: status))
        }
        if target == address || visited.contains(target) {
            return .failure(
                FetchFailure(
                    .redirectLoop,
                    "\(address) redirects to \(target), which was visited before.",
                    status: status
                )
            )
        }
        guard visited.count < limit else {
            let message = "\(visited.first ?? address) redirects more than \(limit) times."
            return .failure(FetchFailure(.tooManyRedirects, message, status: status))
        }
        return .redirect(target, isPermanent: status == 301 || status == 308)
    }

    /// The waiting time of a header field Retry-After: a number of seconds, or a date.
    ///
    /// - Returns: The seconds, 0 for a date in the past, or `nil` if the field is neither a number nor a date.
    public static func retryAfter(_ field: String?, now: Date) -> Double? {
        guard let field = field?.trimmed, !field.isEmpty else { return nil }
        if field.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return Double(field) }
        return WebDate.parse(field).map { max(0, $0.timeIntervalSince(now)) }
    }
}
