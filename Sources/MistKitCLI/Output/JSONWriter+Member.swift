import StreamingJSON

extension JSONWriter {
    /// Writes a member of the present object; nothing for a value that is not there.
    mutating func member(_ key: StaticString, _ value: (some JSONWritable)?) {
        guard let value else { return }
        self.key(key)
        write(value)
    }
}
