/// A type that reads itself from JSON.
///
/// `String`, `Bool`, the integers, `Double`, `Float`, `Optional`, `Array` and `Dictionary` are readable. An `Optional`
/// reads `null` as `nil`.
public protocol JSONReadable {
    /// Reads exactly one value.
    ///
    /// - Parameter reader: A reader that is positioned before the value. On return it must be after the value.
    /// - Throws: The errors of the reader. For a value that is valid JSON but not valid for the type, throw an error of
    ///   ``JSONReader/error(_:_:)``.
    init(json reader: inout JSONReader) throws(JSONError)
}

/// A type that writes itself as JSON.
///
/// `String`, `Bool`, the integers, `Double`, `Float`, `Optional`, `Array` and `Dictionary` are writable.
public protocol JSONWritable {
    /// Writes exactly one value.
    ///
    /// A value without a form in JSON calls ``JSONWriter/fail(_:)``.
    ///
    /// - Parameter writer: The writer to write the value to.
    func write(json writer: inout JSONWriter)
}

extension String: JSONReadable, JSONWritable {
    /// Reads a string. Fails as ``JSONReader/readString()`` does.
    @inlinable
    public init(json reader: inout JSONReader) throws(JSONError) {
        self = try reader.readString()
    }

    /// Writes a string.
    @inlinable
    public func write(json writer: inout JSONWriter) {
        writer.write(self)
    }
}

extension Bool: JSONReadable, JSONWritable {
    /// Reads `true` or `false`. Fails as ``JSONReader/readBool()`` does.
    @inlinable
    public init(json reader: inout JSONReader) throws(JSONError) {
        self = try reader.readBool()
    }

    /// Writes `true` or `false`.
    @inlinable
    public func write(json writer: inout JSONWriter) {
        writer.write(self)
    }
}

extension FixedWidthInteger where Self: JSONReadable {
    /// Reads a whole number. Fails as ``JSONReader/readInteger(_:)`` does.
    @inlinable
    public init(json reader: inout JSONReader) throws(JSONError) {
        self = try reader.readInteger(Self.self)
    }
}

extension FixedWidthInteger where Self: JSONWritable {
    /// Writes a whole number.
    @inlinable
    public func write(json writer: inout JSONWriter) {
        writer.write(self)
    }
}

extension Int: JSONReadable, JSONWritable {}
extension Int8: JSONReadable, JSONWritable {}
extension Int16: JSONReadable, JSONWritable {}
extension Int32: JSONReadable, JSONWritable {}
extension Int64: JSONReadable, JSONWritable {}
extension Int128: JSONReadable, JSONWritable {}
extension UInt: JSONReadable, JSONWritable {}
extension UInt8: JSONReadable, JSONWritable {}
extension UInt16: JSONReadable, JSONWritable {}
extension UInt32: JSONReadable, JSONWritable {}
extension UInt64: JSONReadable, JSONWritable {}
extension UInt128: JSONReadable, JSONWritable {}

extension Double: JSONReadable, JSONWritable {
    /// Reads a number. Fails as ``JSONReader/readDouble()`` does.
    @inlinable
    public init(json reader: inout JSONReader) throws(JSONError) {
        self = try reader.readDouble()
    }

    /// Writes a number in its shortest form.
    @inlinable
    public func write(json writer: inout JSONWriter) {
        writer.write(self)
    }
}

extension Float: JSONReadable, JSONWritable {
    /// Reads a number. Fails as ``JSONReader/readFloat()`` does.
    @inlinable
    public init(json reader: inout JSONReader) throws(JSONError) {
        self = try reader.readFloat()
    }

    /// Writes a number in its shortest form.
    @inlinable
    public func write(json writer: inout JSONWriter) {
        writer.write(self)
    }
}

extension Optional: JSONReadable where Wrapped: JSONReadable {
    /// Reads `null` as `nil`, and anything else as the wrapped type does.
    @inlinable
    public init(json reader: inout JSONReader) throws(JSONError) {
        self = try reader.readNullIfPresent() ? nil : Wrapped(json: &reader)
    }
}

extension Optional: JSONWritable where Wrapped: JSONWritable {
    /// Writes `nil` as `null`.
    @inlinable
    public func write(json writer: inout JSONWriter) {
        switch self {
        case let value?: value.write(json: &writer)
        case nil: writer.writeNull()
        }
    }
}

extension Array: JSONReadable where Element: JSONReadable {
    /// Reads an array. Fails when the value is not an array, and with the error of the first element that fails.
    @inlinable
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginArray()
        while try reader.nextElement() {
            if isEmpty, MemoryLayout<Element>.stride <= 64 {
                reserveCapacity(4)
            }
            append(try Element(json: &reader))
        }
    }
}

extension Array: JSONWritable where Element: JSONWritable {
    /// Writes an array.
    @inlinable
    public func write(json writer: inout JSONWriter) {
        writer.beginArray()
        for element in self {
            element.write(json: &writer)
        }
        writer.endArray()
    }
}

extension Dictionary: JSONReadable where Key == String, Value: JSONReadable {
    /// Reads an object. If a key occurs several times, the last value counts.
    ///
    /// Fails when the value is not an object, and with the error of the first member that fails.
    @inlinable
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            self[key] = try Value(json: &reader)
        }
    }
}

extension Dictionary: JSONWritable where Key == String, Value: JSONWritable {
    /// Writes an object. Its keys are sorted if the writer has the option ``JSONWriter/Options/sortedKeys``.
    @inlinable
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        if writer.options.contains(.sortedKeys) {
            for (key, value) in sorted(by: { $0.key < $1.key }) {
                writer.key(key)
                value.write(json: &writer)
            }
        } else {
            for (key, value) in self {
                writer.key(key)
                value.write(json: &writer)
            }
        }
        writer.endObject()
    }
}
