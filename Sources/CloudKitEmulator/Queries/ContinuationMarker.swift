import CloudKitModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where a query's next page begins, as the text of a continuation marker says it: the last record's position, and a
/// print of the query that it belongs to. So a page does not repeat or skip what was written in the meantime before it.
struct ContinuationMarker: Hashable {
    var query: UInt64
    var position: QueryPosition

    private static let version: UInt8 = 0x12

    /// The marker's text.
    func text(salt: UInt64) -> String {
        var bytes: [UInt8] = [Self.version]
        bytes.append(number: query)
        bytes.append(number: UInt64(bitPattern: position.record))
        for key in position.keys {
            switch key {
            case nil:
                bytes.append(0)
            case .integer(let value):
                bytes.append(1)
                bytes.append(number: UInt64(bitPattern: value))
            case .real(let value):
                bytes.append(2)
                bytes.append(number: value.bitPattern)
            case .text(let value):
                bytes.append(3)
                bytes.append(number: UInt64(value.utf8.count))
                bytes += value.utf8
            case .bytes(let value):
                bytes.append(4)
                bytes.append(number: UInt64(value.count))
                bytes += value
            }
        }
        bytes.append(number: fingerprint(bytes, salt: salt))
        return Data(bytes).base64EncodedString()
    }

    /// Reads a marker of ours; `nil` for any other text.
    init?(_ text: String, salt: UInt64) {
        guard let bytes = Data(base64Encoded: text).map(Array.init), bytes.count >= 25 else { return nil }
        var rest = bytes.dropLast(8)
        var check = bytes.suffix(8)
        guard check.removeNumber() == fingerprint(rest, salt: salt), rest.removeFirst() == Self.version else {
            return nil
        }
        guard let query = rest.removeNumber(), let record = rest.removeNumber() else { return nil }
        self.query = query
        position = QueryPosition(keys: [], record: Int64(bitPattern: record))
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

    init(query: UInt64, position: QueryPosition) {
        self.query = query
        self.position = position
    }
}

extension [UInt8] {
    fileprivate mutating func append(number: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func removeNumber() -> UInt64? {
        guard count >= 8 else { return nil }
        defer { removeFirst(8) }
        return prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
