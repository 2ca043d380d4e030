package import StreamingJSON

/// The largest number of items in a response, `resultsLimit`.
///
/// It is written as a number. CloudKit JS sends a string such as `"3"` if its caller passed a string, so strings are
/// read, too.
package struct ResultsLimit: JSONBackedCodable, Hashable, Sendable {
    /// The number of items.
    package var count: Int

    /// Makes a limit.
    package init(count: Int) {
        self.count = count
    }

    /// Reads a whole number, or a string with a whole number.
    package init(json reader: inout JSONReader) throws(JSONError) {
        guard try reader.peekKind() == .string else {
            count = try reader.readInteger()
            return
        }
        let text = try reader.readString()
        guard let count = Int(text) else {
            throw reader.error(.invalidValue, "expected a whole number, found \"\(text)\"")
        }
        self.count = count
    }

    /// Writes the number.
    package func write(json writer: inout JSONWriter) {
        writer.write(count)
    }
}

extension ResultsLimit: ExpressibleByIntegerLiteral {
    /// Makes a limit from a literal.
    package init(integerLiteral value: Int) { self.init(count: value) }
}
