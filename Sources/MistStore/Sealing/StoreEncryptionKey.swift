import Crypto
import Synchronization

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The key with which a program seals the encrypted fields of a store: 256 random bits that the program keeps, for
/// example in the keychain of the system.
///
/// The store never writes the key to a file. Without it, the values that were sealed cannot be read again.
///
/// The bytes are not shown: a description is `<redacted>`, also in a debugger.
public struct StoreEncryptionKey: Sendable {
    let symmetricKey: SymmetricKey

    /// The number of bytes of a key.
    public static let byteCount = 32

    /// Makes a key of random bytes.
    public init() {
        symmetricKey = SymmetricKey(size: .bits256)
    }

    /// Makes a key of the bytes that a program has kept.
    ///
    /// A password is no key: derive one from it with a function that is made for that, such as scrypt or Argon2.
    ///
    /// - Parameter bytes: 32 bytes.
    /// - Throws: A ``StoreError`` with the code `wrongKey` for another number of bytes.
    public init(bytes: Data) throws {
        guard bytes.count == Self.byteCount else {
            throw StoreError(
                .wrongKey,
                "A key has \(Self.byteCount) bytes, and these are \(bytes.count). Make one with StoreEncryptionKey()."
            )
        }
        symmetricKey = SymmetricKey(data: bytes)
    }

    /// Gives the bytes of the key, so that the program can keep them.
    public func revealBytes() -> Data { symmetricKey.withUnsafeBytes { Data($0) } }
}

extension StoreEncryptionKey: Hashable {
    /// Whether two keys have the same bytes. The time does not depend on the bytes.
    public static func == (left: Self, right: Self) -> Bool { left.symmetricKey == right.symmetricKey }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { symmetricKey.withUnsafeBytes { hasher.combine(bytes: $0) } }
}

extension StoreEncryptionKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `<redacted>`.
    public var description: String { "<redacted>" }
    /// `<redacted>`.
    public var debugDescription: String { "<redacted>" }
    /// A mirror without the bytes.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The present key of an opened store. A program can change it while the store is open.
package final class PresentKey: Sendable {
    private let key: Mutex<StoreEncryptionKey?>

    package init(_ key: StoreEncryptionKey?) {
        self.key = Mutex(key)
    }

    var value: StoreEncryptionKey? {
        get { key.withLock { $0 } }
        set { key.withLock { $0 = newValue } }
    }
}
