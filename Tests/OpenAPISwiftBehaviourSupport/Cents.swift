package import StreamingJSON

/// An amount of money: a type of ours that replaces one that the generator would declare.
package struct Cents: JSONCodable, Sendable {
    package var count: Int

    package init(_ count: Int) {
        self.count = count
    }

    package init(json reader: inout JSONReader) throws(JSONError) {
        count = try reader.readInteger(Int.self)
    }

    package func write(json writer: inout JSONWriter) {
        writer.write(count)
    }
}
