extension String {
    /// The string without the characters at both ends that satisfy `condition`.
    package func trimming(_ condition: (Character) -> Bool) -> String {
        var rest = self[...]
        while let first = rest.first, condition(first) { rest.removeFirst() }
        while let last = rest.last, condition(last) { rest.removeLast() }
        return String(rest)
    }

    /// The string without white space at both ends.
    package var trimmed: String { trimming(\.isWhitespace) }

    /// The string, or `nil` if it is empty.
    package var nonEmpty: String? { isEmpty ? nil : self }
}

extension Character {
    package var isASCIIDigit: Bool { self >= "0" && self <= "9" && isASCII }
}

extension UInt8 {
    package var isASCIILetter: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
    }

    package var isASCIIDigit: Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
    }

    /// Whether the byte is white space in XML.
    package var isXMLSpace: Bool {
        self == 0x20 || self == 0x0A || self == 0x0D || self == 0x09
    }
}
