/// A boundary that RFC 2046 allows.
struct MultipartBoundary: Hashable, Sendable {
    /// CR LF, two hyphens and the boundary, which end a part. The CR LF does not belong to the part's bytes.
    let delimiter: [UInt8]

    let text: String

    /// - Throws: ``MultipartError`` with the code `invalidBoundary`.
    init(_ text: String) throws(MultipartError) {
        let bytes = text.utf8
        guard (1...70).contains(bytes.count), bytes.allSatisfy(Self.isAllowed), bytes.last != UInt8(ascii: " ") else {
            throw MultipartError(
                code: .invalidBoundary,
                message: "A boundary has 1 to 70 letters, digits or characters of '()+_,-./:=? and inner spaces, "
                    + "which \(text.debugDescription) has not."
            )
        }
        self.text = text
        delimiter = Array("\r\n--".utf8) + bytes
    }

    /// Creates the boundary that a content type names.
    /// - Throws: ``MultipartError`` with the code `missingBoundary` or `invalidBoundary`.
    init(ofContentType contentType: String?) throws(MultipartError) {
        guard let contentType, let boundary = ParameterizedValue(parsing: contentType)?["boundary"] else {
            throw MultipartError(
                code: .missingBoundary,
                message: "The content type \(contentType?.debugDescription ?? "is missing and so") says no boundary."
            )
        }
        try self.init(boundary)
    }

    /// The boundary as the value of the content type's parameter, in quotes if it needs them.
    var parameterValue: String {
        let isToken = text.utf8.allSatisfy { byte in
            Self.isAlphanumeric(byte) || "'+_-.".utf8.contains(byte)
        }
        return isToken ? text : ParameterizedValue.quoted(text)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || "'()+_,-./:=? ".utf8.contains(byte)
    }
}
