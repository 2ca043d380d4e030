import Foundation
import WebText

/// What a response means, from its status and header fields alone.
public enum ResponseRules {
    /// The meaning of a response.
    public enum Verdict: Sendable, Hashable {
        /// The body is the document.
        case document
        /// The document that the client has is the newest one.
        case notModified
        /// The document is at another address, from now on or for this time.
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
    ///   - visited: The addresses of the requests before it, the first one first.
    ///   - limit: The number of redirects that are followed.
    /// - Returns: What to do.
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

    /// The time that a header field Retry-After asks to wait: a number of seconds, or a date.
    ///
    /// - Returns: The seconds, 0 for a date in the past, or `nil` where the field is neither.
    public static func retryAfter(_ field: String?, now: Date) -> Double? {
        guard let field = field?.trimmed, !field.isEmpty else { return nil }
        if field.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return Double(field) }
        return WebDate.parse(field).map { max(0, $0.timeIntervalSince(now)) }
    }
}
