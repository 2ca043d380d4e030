/// A type that reads and writes itself as JSON, and implements `Codable` with that.
///
/// Other encoders and decoders get a ``JSONValue``. This is slower than conformances that the compiler synthesises, and
/// suits types that are mainly read and written by this module.
public protocol JSONBackedCodable: JSONReadable, JSONWritable, Codable {}

/// A type that reads and writes itself as JSON, and implements `Codable` and `Hashable` with that.
///
/// The compiler does not have to synthesise four more functions for each type. Two values are equal when they write the
/// same JSON, and other encoders and decoders get a ``JSONValue``. A generated type passes its members to the writer as
/// Swift values, and these are compared instead of their JSON.
///
/// All of this is slower than synthesised conformances, and suits types that are mainly read and written. A type can
/// still implement the functions itself. A type that needs a synthesised `Hashable` conforms only to
/// ``JSONBackedCodable``, because the functions of a protocol have precedence over synthesised ones.
public protocol JSONCodable: JSONBackedCodable, Hashable {}

extension JSONBackedCodable {
    /// Decodes the value as JSON.
    ///
    /// Dates are read as the decoder's strategy says. Fails as `decoder` does, and with `DecodingError.dataCorrupted`
    /// around the ``JSONError`` of the type itself.
    public init(from decoder: any Decoder) throws {
        let value = try JSONValue(from: decoder)
        guard decoder is TreeDecoder else {
            self = try Self(value, from: decoder, asking: ForeignValues())
            return
        }
        do {
            let options = JSONReader.Options(userInfo: decoder.userInfo.json)
            self = try JSONReader.read(from: JSONWriter.bytes(of: value), options: options)
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: error.description,
                    underlyingError: error
                )
            )
        }
    }

    /// Reads a value from the tree of a decoder of another library.
    ///
    /// The first reading finds the values for which the decoder has a strategy. The tree is read again once these are
    /// known, since they can decide how it is read.
    private init(_ tree: JSONValue, from decoder: any Decoder, asking values: ForeignValues) throws {
        var result: Result<Self, any Error>
        repeat {
            do {
                let options = JSONReader.Options(userInfo: values)
                result = .success(try JSONReader.read(from: JSONWriter.bytes(of: tree), options: options))
            } catch {
                result = .failure(
                    DecodingError.dataCorrupted(
                        DecodingError.Context(
                            codingPath: decoder.codingPath,
                            debugDescription: error.description,
                            underlyingError: error
                        )
                    )
                )
            }
        } while try values.resolve(tree, from: decoder)
        self = try result.get()
    }

    /// Encodes the value as JSON.
    ///
    /// Dates are written as the encoder's strategy says. Fails as `encoder` does, and with `EncodingError.invalidValue`
    /// around the ``JSONError`` of the type itself.
    public func encode(to encoder: any Encoder) throws {
        let value: JSONValue
        let foreign: ForeignValues? = encoder is TreeEncoder ? nil : ForeignValues()
        do {
            let userInfo = foreign ?? encoder.userInfo.json
            value = try JSONReader.read(from: JSONWriter.bytes(of: self, userInfo: userInfo))
        } catch {
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(
                    codingPath: encoder.codingPath,
                    debugDescription: error.description,
                    underlyingError: error
                )
            )
        }
        if let foreign {
            try ForeignTree(tree: value, values: foreign).encode(to: encoder)
        } else {
            try value.encode(to: encoder)
        }
    }
}

extension [CodingUserInfoKey: Any] {
    private static let key = CodingUserInfoKey(rawValue: "StreamingJSON.userInfo")

    /// Creates the `userInfo` of a decoder or encoder from that of a reader or writer.
    init(json userInfo: (any AnyObject & Sendable)?) {
        self = [:]
        if let userInfo, let key = Self.key { self[key] = HeldUserInfo(userInfo: userInfo) }
    }

    /// The `userInfo` of the reader or writer, if the decoder or encoder is one of this module.
    fileprivate var json: (any AnyObject & Sendable)? {
        guard !isEmpty, let key = Self.key else { return nil }
        return (self[key] as? HeldUserInfo)?.userInfo
    }
}

private struct HeldUserInfo {
    let userInfo: any AnyObject & Sendable
}

extension JSONCodable {
    /// Whether two values have equal parts.
    public static func == (left: Self, right: Self) -> Bool {
        left.written == right.written
    }

    /// Feeds the parts of the value to `hasher`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(written)
    }

    private var written: Written {
        let parts = JSONParts()
        var writer = JSONWriter(options: .sortedKeys, capacity: 16)
        writer.parts = parts
        write(json: &writer)
        do {
            return Written(bytes: .success(try writer.finish()), parts: parts.values)
        } catch {
            return Written(bytes: .failure(error), parts: parts.values)
        }
    }
}

/// The output of a value: the values that it passes as its parts, and the bytes of everything else.
private struct Written: Hashable {
    var bytes: Result<[UInt8], JSONError>
    var parts: [AnyHashable]
}

/// The parts of a value, in the order in which it writes them.
package final class JSONParts {
    /// The parts so far.
    package var values: [AnyHashable] = []

    init() {}
}
