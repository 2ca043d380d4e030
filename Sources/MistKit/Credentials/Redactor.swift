/// Removes credentials from texts.
///
/// It knows the credentials of one attempt and searches for their values. So the source of a text does not matter: a
/// server may repeat the request's address, and the errors of a transport may print the URL.
struct Redactor: Sendable {
    private var secrets: [String] = []

    /// The text that replaces a credential.
    static let mark = "<redacted>"

    /// The fewest bytes of a text that can be a credential. Shorter ones are placeholders, and occur in every message.
    private static let shortestSecret = 4

    mutating func hide(_ secret: String) {
        if secret.utf8.count >= Self.shortestSecret { secrets.append(secret) }
    }

    func redact(_ text: String) -> String {
        let found = spellings.filter(text.contains)
        guard !found.isEmpty else { return text }
        // In one pass, so that no credential is searched for in the marks.
        var rest = Substring(text)
        var result = ""
        while let first = rest.first {
            if let secret = found.first(where: rest.hasPrefix) {
                result += Self.mark
                rest = rest.dropFirst(secret.count)
            } else {
                result.append(first)
                rest = rest.dropFirst()
            }
        }
        return result
    }

    /// The texts to remove. They are made only for a failure or a log line, and not for each request.
    private var spellings: [String] {
        // A text may have the same percent-encoding with lowercase letters.
        let lowercased = secrets.filter { $0.contains("%") }.map(\.lowercasedPercentEncoding)
        // Longer texts first: when one credential contains another, no part of it remains.
        return (secrets + lowercased).sorted { $0.utf8.count > $1.utf8.count }
    }

    func redact(_ error: CloudKitError) -> CloudKitError {
        var error = error
        error.code = error.code.serverErrorCode.map { .init(serverErrorCode: redact($0)) } ?? error.code
        error.message = redact(error.message)
        error.reason = error.reason.map(redact)
        error.requestUUID = error.requestUUID.map(redact)
        error.redirectURL = error.redirectURL.map(redact)
        if let cause = error.cause {
            // The type decides what an error prints, so both descriptions are searched.
            let printed = String(reflecting: cause) + String(describing: cause)
            if redact(printed) != printed {
                error.cause = RedactedError(type: "\(type(of: cause))", description: redact(String(describing: cause)))
            }
        }
        return error
    }
}

/// Replaces an error whose text contained a credential.
struct RedactedError: Error, CustomStringConvertible {
    let type: String
    let description: String
}

extension String {
    fileprivate var lowercasedPercentEncoding: String {
        var bytes = Array(utf8)
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count {
                for offset in 1...2 where (UInt8(ascii: "A")...UInt8(ascii: "F")).contains(bytes[index + offset]) {
                    bytes[index + offset] += 32
                }
                index += 3
            } else {
                index += 1
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A text that descriptions, dumps and interpolations do not show.
package struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package let revealed: String

    /// Keeps a text without the white space around it, which texts from files and environment variables often have.
    package init(_ text: String) {
        var text = Substring(text)
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        revealed = String(text)
    }

    package var description: String { Redactor.mark }
    package var debugDescription: String { Redactor.mark }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
