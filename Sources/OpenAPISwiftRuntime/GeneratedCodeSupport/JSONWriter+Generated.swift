public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension JSONWriter {
    /// Writes a date as text, with the transcoder of the message's configuration.
    ///
    /// A value that is encoded by `JSONEncoder`, or another encoder, has dates as the strategy of that encoder says.
    @_spi(Generated) public mutating func writeDate(_ date: Date) {
        if let values = userInfo as? ForeignValues {
            write(values.placeholder(for: date))
            return
        }
        let dates = userInfo as? DateCoding ?? .standard
        do {
            write(try dates.transcoder.encode(date))
        } catch {
            fail(JSONError(code: .notRepresentable, message: "A date has no text: \(error)"))
        }
    }

    /// Writes an array whose elements a closure writes.
    @_spi(Generated) public mutating func writeArray<T>(_ values: [T], _ element: (T, inout JSONWriter) -> Void) {
        beginArray()
        for value in values { element(value, &self) }
        endArray()
    }

    /// Writes an object whose values a closure writes, keys in order.
    @_spi(Generated) public mutating func writeDictionary<T>(
        _ values: [String: T],
        _ value: (T, inout JSONWriter) -> Void
    ) {
        beginObject()
        for (name, member) in values.sorted(by: { $0.key < $1.key }) {
            key(name)
            value(member, &self)
        }
        endObject()
    }

    /// Writes `null`, or a value with a closure.
    @_spi(Generated) public mutating func writeOptional<T>(_ value: T?, _ write: (T, inout JSONWriter) -> Void) {
        if let value {
            write(value, &self)
        } else {
            writeNull()
        }
    }

    /// Writes several objects as one. If several have the same key, the last one counts.
    @_spi(Generated) public mutating func writeMerged(_ values: [(any JSONWritable)?]) {
        let values: [any JSONWritable] = values.compactMap { $0 }
        if values.count == 1, let value = values.first {
            value.write(json: &self)
            return
        }
        beginMerging()
        for value in values {
            value.write(json: &self)
        }
        endMerging()
    }

    /// Fails for a composition of which no part is set.
    @_spi(Generated) public mutating func failEmpty(_ type: StaticString) {
        fail(JSONError(code: .notRepresentable, message: "\(type) has no value: set one of its properties."))
    }
}
