import CloudKitModel
import GRDB

/// A point in the history of a database or a zone: the content of a sync token.
///
/// Tokens are not used up: the same token gives the same response again, in any order (observed on the live service).
struct SyncToken: Hashable {
    /// The feed that the token belongs to.
    enum Kind: UInt8 {
        case database = 1
        case zone = 2
        case zoneList = 3
        /// A zone's feed read backwards, from `top` down to `position`.
        case reversedZone = 4
    }

    var kind: Kind
    var database: Int64
    /// The zone's row; 0 in tokens of a database.
    var zone: Int64 = 0
    /// A hash of the zone's name. It shows whether an unknown row number belongs to an earlier zone of the same name.
    var zoneName: UInt32 = 0
    /// The number of the last change that the client has seen.
    var position: Int64
    /// In the feed of a shared zone, the last record that the client has seen of the change at `position`: one change
    /// may make many records visible. In a feed read backwards, the position where the reading began.
    var top: Int64 = 0

    static func database(_ id: Int64, at position: Int64) -> SyncToken {
        SyncToken(kind: .database, database: id, position: position)
    }

    static func zone(_ zone: ZoneRow, in context: DatabaseContext, at position: Int64) -> SyncToken {
        SyncToken(
            kind: .zone,
            database: context.databaseID,
            zone: zone.id,
            zoneName: UInt32(truncatingIfNeeded: zone.name.utf8.fingerprint()),
            position: position,
            top: zone.owner == nil ? 0 : .max
        )
    }
}

/// Writes and reads the text of sync tokens.
///
/// A text ends with a fingerprint of its bytes, salted with a number that each storage picks at random. So tokens of
/// other storages, and any other text, are refused.
struct SyncTokenKey: Sendable {
    let salt: UInt64

    private static let version: UInt8 = 1
    private static let size = 42

    static func load(from db: Database, identifiers: IdentifierSource) throws -> SyncTokenKey {
        let bytes = try db.secret("sync token salt", 8, from: identifiers)
        return SyncTokenKey(salt: bytes.bigEndianNumber)
    }

    func text(of token: SyncToken) -> String {
        var bytes: [UInt8] = [Self.version, token.kind.rawValue]
        bytes.append(bigEndian: UInt64(bitPattern: token.position))
        bytes.append(bigEndian: UInt64(token.database), count: 6)
        bytes.append(bigEndian: UInt64(token.zone), count: 6)
        bytes.append(bigEndian: UInt64(token.zoneName), count: 4)
        bytes.append(bigEndian: UInt64(bitPattern: token.top))
        bytes.append(bigEndian: bytes.fingerprint(salt: salt))
        return bytes.base64
    }

    /// Reads a token.
    ///
    /// - Throws: `BAD_REQUEST` in the recorded words: `Invalid continuation format` for a token that was cut short,
    ///   `Unknown sync continuation type` for any other text, and for a token of another kind of feed.
    func token(_ text: String, kinds: [SyncToken.Kind]) throws(EmulatorError) -> SyncToken {
        let bytes = Self.decode(text)
        guard bytes.first == Self.version else { throw .badRequest("Unknown sync continuation type") }
        guard bytes.count >= Self.size else { throw .badRequest("Invalid continuation format") }
        func number(_ range: Range<Int>) -> UInt64 {
            bytes[range].bigEndianNumber
        }
        guard
            bytes.count == Self.size,
            number(34..<42) == bytes[..<34].fingerprint(salt: salt),
            let kind = SyncToken.Kind(rawValue: bytes[1]),
            kinds.contains(kind)
        else {
            throw .badRequest("Unknown sync continuation type")
        }
        return SyncToken(
            kind: kind,
            database: Int64(number(10..<16)),
            zone: Int64(number(16..<22)),
            zoneName: UInt32(number(22..<26)),
            position: Int64(bitPattern: number(2..<10)),
            top: Int64(bitPattern: number(26..<34))
        )
    }

    /// The bytes of base64 text, up to its last whole group of four characters: a token that was cut may end anywhere.
    private static func decode(_ text: String) -> [UInt8] {
        if let bytes = [UInt8](base64: text) { return bytes }
        let whole = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        let prefix = String(decoding: whole.prefix(whole.count / 4 * 4), as: UTF8.self)
        return [UInt8](base64: prefix) ?? []
    }
}
