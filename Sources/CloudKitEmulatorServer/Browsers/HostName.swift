/// A host with a port, as in the field `Host` and in addresses: `localhost:8181`, `[::1]`.
package struct HostName: Hashable {
    /// In lower case. An address of IPv6 has its brackets.
    var host: String
    var port: UInt16?

    init?(_ text: String) {
        var name = Substring(text.lowercased())
        let end = name.lastIndex(of: "]").map { name.index(after: $0) } ?? name.startIndex
        if let colon = name[end...].firstIndex(of: ":") {
            let digits = name[name.index(after: colon)...]
            guard digits.utf8.allSatisfy({ (48...57).contains($0) }), let number = UInt16(digits) else { return nil }
            port = number
            name = name[..<colon]
        }
        let isAddress = name.hasPrefix("[") && name.hasSuffix("]")
        let characters = isAddress ? name.dropFirst().dropLast() : name
        let isValid = characters.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."): true
            case UInt8(ascii: "-"), UInt8(ascii: "_"): !isAddress
            case UInt8(ascii: ":"): isAddress
            default: false
            }
        }
        guard isValid, !characters.isEmpty else { return nil }
        host = String(name)
    }

    /// Whether a host is an address of IPv4 or IPv6, and not a name.
    static func isAddress(_ host: String) -> Bool {
        if host.hasPrefix("[") { return true }
        let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers.allSatisfy { UInt8($0) != nil }
    }

    /// Whether a host is this machine whatever a name server says: a name below `localhost`, which browsers do not look
    /// up, or an address of the loopback interface.
    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" { return true }
        return isAddress(host) && host.hasPrefix("127.")
    }

    /// Whether a server that listens on a host is reached from this machine only.
    ///
    /// - Parameter host: The host, without brackets around an address of IPv6.
    /// - Returns: Whether it is `localhost` or an address of the loopback interface.
    package static func isLocal(listeningOn host: String) -> Bool {
        isLoopback(host.contains(":") ? "[\(host)]" : host.lowercased())
    }
}
