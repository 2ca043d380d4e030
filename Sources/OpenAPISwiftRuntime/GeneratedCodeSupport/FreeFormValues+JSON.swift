public import StreamingJSON

extension OpenAPIObjectContainer {
    /// Reads one member of an object whose other members are read elsewhere.
    @_spi(Generated) public mutating func readMember(
        _ name: String,
        json reader: inout JSONReader
    ) throws(JSONError) {
        value.updateValue(try reader.read(OpenAPIValueContainer.self).value, forKey: name)
    }

    /// Writes the members, keys in order, into an object that is open already.
    @_spi(Generated) public func writeMembers(json writer: inout JSONWriter) {
        for (name, member) in value.sorted(by: { $0.key < $1.key }) {
            writer.key(name)
            writer.write(OpenAPIValueContainer(validatedValue: member))
        }
    }
}
