import CloudKitModel

/// Where a query's next page begins: the content of a continuation marker.
///
/// A marker holds the position of the page's last record and a fingerprint of the query. So the next page neither
/// repeats nor skips records when others were written before that position meanwhile.
struct ContinuationMarker: Hashable {
    var query: UInt64
    var position: QueryPosition

    private static let version: UInt8 = 0x12

    /// The marker's text.
    func text(salt: UInt64) -> String {
        var bytes: [UInt8] = [Self.version]
        bytes.append(bigEndian: query)
        bytes.append(bigEndian: UInt64(bitPattern: position.record))
        for key in position.keys {
            switch key {
            case nil:
                bytes.append(0)
            case .integer(let value):
                bytes.append(1)
                bytes.append(bigEndian: UInt64(bitPattern: value))
            case .real(let value):
                bytes.append(2)
                bytes.append(bigEndian: value.bitPattern)
            case .text(let value):
                bytes.append(3)
                bytes.append(bigEndian: UInt64(value.utf8.count))
                bytes += value.utf8
            case .bytes(let value):
                bytes.append(4)
                bytes.append(bigEndian: UInt64(value.count))
                bytes += value
            }
        }
        bytes.append(bigEndian: bytes.fingerprint(salt: salt))
        return bytes.base64
    }
}

extension ContinuationMarker {
    /// Reads a marker of this emulator; `nil` for any other text.
    init?(_ text: String, salt: UInt64) {
        guard let bytes = [UInt8](base64: text), bytes.count >= 25 else { return nil }
        var rest = bytes.dropLast(8)
        var check = bytes.suffix(8)
        guard check.removeNumber() == rest.fingerprint(salt: salt), rest.removeFirst() == Self.version else {
            return nil
        }
        guard let query = rest.removeNumber(), let record = rest.removeNumber() else { return nil }
        self.init(query: query, position: QueryPosition(keys: [], record: Int64(bitPattern: record)))
        while let tag = rest.popFirst() {
            if tag == 0 {
                position.keys.append(nil)
                continue
            }
            guard let number = rest.removeNumber() else { return nil }
            switch tag {
            case 1: position.keys.append(.integer(Int64(bitPattern: number)))
            case 2: position.keys.append(.real(Double(bitPattern: number)))
            default:
                guard number <= UInt64(rest.count) else { return nil }
                let value = rest.prefix(Int(number))
                rest.removeFirst(Int(number))
                position.keys.append(tag == 3 ? .text(String(decoding: value, as: UTF8.self)) : .bytes(Array(value)))
            }
        }
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func removeNumber() -> UInt64? {
        guard count >= 8 else { return nil }
        defer { removeFirst(8) }
        return prefix(8).bigEndianNumber
    }
}
