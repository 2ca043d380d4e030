import WebText

/// The rules of a `robots.txt` (RFC 9309).
///
/// ```swift
/// let robots = RobotsFile("User-agent: *\nDisallow: /private/\nAllow: /private/feed.xml$")
/// robots.allows("/private/a.xml", for: "celestra")      // false
/// robots.allows("/private/feed.xml", for: "celestra")   // true
/// ```
public struct RobotsFile: Sendable, Hashable {
    /// The number of bytes of a file that are read; the rest is ignored. The standard asks for at least this number.
    public static let maximumSize = 500 * 1024

    private struct Rule: Sendable, Hashable {
        var allows: Bool
        var pattern: [UInt8]
    }

    private struct Group: Sendable, Hashable {
        var agents: [String]
        var rules: [Rule] = []
        var delay: Double?
    }

    private var groups: [Group] = []

    /// Reads a file. Lines that are not rules are ignored, so no text is an error.
    public init(_ text: String) {
        var isBetweenAgents = false
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.prefix { $0 != "#" }
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = String(line[line.index(after: colon)...]).trimmed
            switch String(line[..<colon]).trimmed.lowercased().filter({ $0 != "\u{FEFF}" }) {
            case "user-agent":
                if isBetweenAgents {
                    groups[groups.count - 1].agents.append(RobotsFile.product(value))
                } else {
                    groups.append(Group(agents: [RobotsFile.product(value)]))
                }
                isBetweenAgents = true
            case let name where name == "allow" || name == "disallow":
                isBetweenAgents = false
                // An empty rule has no effect. A rule before the first agent belongs to no agent.
                guard !value.isEmpty, !groups.isEmpty else { continue }
                let rule = Rule(allows: name == "allow", pattern: RobotsFile.normalized(value))
                groups[groups.count - 1].rules.append(rule)
            case "crawl-delay":
                isBetweenAgents = false
                guard !groups.isEmpty, let seconds = Double(value), seconds.isFinite, seconds >= 0 else { continue }
                groups[groups.count - 1].delay = seconds
            default:
                // Other lines, such as Sitemap, do not end a list of agents.
                continue
            }
        }
    }

    /// Whether a program may fetch a path.
    ///
    /// The longest matching rule decides; of two rules of the same length, the rule that allows. Without a matching
    /// rule the path is allowed. `/robots.txt` is always allowed.
    ///
    /// - Parameters:
    ///   - path: The path with its query.
    ///   - product: The name of the program. The groups with this name apply; if there are none, the groups of `*`
    ///     apply.
    /// - Returns: `false` if the rules forbid the path.
    public func allows(_ path: String, for product: String) -> Bool {
        guard path != "/robots.txt" else { return true }
        let path = RobotsFile.normalized(path)
        var best: Rule?
        for rule in groups(for: product).flatMap(\.rules) where RobotsFile.matches(path, rule.pattern) {
            guard let current = best else {
                best = rule
                continue
            }
            let (length, currentLength) = (rule.pattern.count, current.pattern.count)
            if length > currentLength || length == currentLength && rule.allows { best = rule }
        }
        return best?.allows ?? true
    }

    /// The pause between two requests that the file asks for, in seconds. `Crawl-delay` is not part of the standard,
    /// but common.
    public func delay(for product: String) -> Double? {
        groups(for: product).compactMap(\.delay).max()
    }

    private func groups(for product: String) -> [Group] {
        let product = product.lowercased()
        let own = groups.filter { $0.agents.contains(product) }
        return own.isEmpty ? groups.filter { $0.agents.contains("*") } : own
    }

    /// The name of a program without its version.
    private static func product(_ agent: String) -> String {
        guard agent != "*" else { return agent }
        return String(agent.prefix { $0.isASCII && ($0.isLetter || $0 == "-" || $0 == "_") }).lowercased()
    }

    /// Normalises percent-encoding: an encoded letter becomes the letter, a character beyond ASCII is encoded.
    private static func normalized(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            var byte = bytes[index]
            var isEncoded = byte >= 0x80
            if byte == UInt8(ascii: "%"), index + 2 < bytes.count,
                let high = Character(UnicodeScalar(bytes[index + 1])).hexDigitValue,
                let low = Character(UnicodeScalar(bytes[index + 2])).hexDigitValue
            {
                let value = UInt8(high << 4 | low)
                byte = value
                isEncoded = !RobotsFile.isUnreserved(value)
                index += 2
            }
            if isEncoded {
                result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            } else {
                result.append(byte)
            }
            index += 1
        }
        return result
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
    }

    /// Whether a path begins with a pattern. In a pattern, `*` matches any text, and `$` at the end matches the end of
    /// the path.
    private static func matches(_ path: [UInt8], _ pattern: [UInt8]) -> Bool {
        var pattern = pattern[...]
        let isWhole = pattern.last == UInt8(ascii: "$")
        if isWhole { pattern = pattern.dropLast() } else { pattern.append(UInt8(ascii: "*")) }
        // The position after the last star, and the part of the path that the star matches. Earlier stars never have to
        // change.
        var (p, s) = (pattern.startIndex, 0)
        var star: (pattern: Int, path: Int)?
        while s < path.count {
            if p < pattern.endIndex, pattern[p] == UInt8(ascii: "*") {
                star = (p + 1, s)
                p += 1
            } else if p < pattern.endIndex, pattern[p] == path[s] {
                p += 1
                s += 1
            } else if let last = star {
                star = (last.pattern, last.path + 1)
                p = last.pattern
                s = last.path + 1
            } else {
                return false
            }
        }
        return pattern[p...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
