/// Resolves the links in HTML.
package enum HTMLLinks {
    /// The fragment with each relative address resolved against the base. Everything else stays as it is, byte for
    /// byte.
    package static func resolved(in html: String, against base: String?) -> String {
        guard let base, html.utf8.contains(UInt8(ascii: "<")) else { return html }
        var scanner = HTMLScanner(html)
        var result = ""
        var copied = 0
        while let part = scanner.next() {
            guard case .tag(let tag) = part, !tag.isEnd else { continue }
            for attribute in tag.attributes where addresses.contains(attribute.name) && !attribute.value.isEmpty {
                let value = scanner.text(attribute.value)
                let address = HTMLText.replacingReferences(in: value)
                let resolved = URLReference.resolve(address, against: base)
                guard resolved != address, attribute.value.lowerBound >= copied else { continue }
                result += scanner.text(copied..<attribute.value.lowerBound)
                result += HTMLText.escaped(resolved, inAttribute: true)
                copied = attribute.value.upperBound
            }
        }
        return result + scanner.text(copied..<html.utf8.count)
    }

    /// Whether the value of an HTML attribute with this name is an address.
    package static func isAddress(_ attribute: String) -> Bool { addresses.contains(attribute) }

    private static let addresses: Set<String> = [
        "action", "background", "cite", "data", "href", "longdesc", "poster", "src", "usemap",
    ]
}
