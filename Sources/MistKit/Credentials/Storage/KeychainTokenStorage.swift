#if canImport(Security)
    import Foundation
    import Security

    /// Keeps a token in the Keychain of an Apple platform.
    ///
    /// ```swift
    /// let manager = AdaptiveTokenManager(
    ///     apiToken: apiToken, storage: .keychain(account: "iCloud.com.example.app development"))
    /// ```
    ///
    /// The entry is a generic password that stays on this device. It is readable after the device was unlocked once
    /// since its start, so a program in the background can read it, too.
    public struct KeychainTokenStorage: TokenStorage {
        private let service: String
        private let account: String
        private let accessGroup: String?

        /// Makes a storage; nothing is read or written yet.
        ///
        /// - Parameters:
        ///   - account: The name of the entry. Put the container and the environment into the name, since a token is
        ///     valid for one of each.
        ///   - service: The service name of the entry (`kSecAttrService`), which says what the entry is for.
        ///   - accessGroup: The group of apps that share the entry; `nil` for the app's own.
        public init(account: String, service: String = "MistKit web authentication token", accessGroup: String? = nil) {
            self.account = account
            self.service = service
            self.accessGroup = accessGroup
        }

        /// Reads the entry.
        ///
        /// - Returns: The token; `nil` where there is no entry.
        /// - Throws: A ``CloudKitError`` of code ``CloudKitError/Code-swift.struct/tokenStorage`` with the Keychain's
        ///   own error text.
        @concurrent public func webAuthToken() async throws -> String? {
            var query = entry
            query[kSecReturnData] = true
            query[kSecMatchLimit] = kSecMatchLimitOne
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess else { throw failure("cannot be read", status) }
            guard let data = found as? Data, let token = String(data: data, encoding: .utf8), !token.isEmpty else {
                throw CloudKitError.tokenStorage(
                    "The Keychain entry \(account) holds no token. Remove it and sign in again."
                )
            }
            return token
        }

        /// Writes the entry, or removes it.
        ///
        /// - Parameter webAuthToken: The token; `nil` removes the entry.
        /// - Throws: A ``CloudKitError`` of code ``CloudKitError/Code-swift.struct/tokenStorage`` with the Keychain's
        ///   own error text.
        @concurrent public func store(webAuthToken: String?) async throws {
            guard let webAuthToken else {
                let status = SecItemDelete(entry as CFDictionary)
                guard status == errSecSuccess || status == errSecItemNotFound else {
                    throw failure("cannot be removed", status)
                }
                return
            }
            let data = Data(webAuthToken.utf8)
            var status = SecItemUpdate(entry as CFDictionary, [kSecValueData: data] as CFDictionary)
            if status == errSecItemNotFound {
                var added = entry
                added[kSecValueData] = data
                added[kSecAttrAccessible] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
                status = SecItemAdd(added as CFDictionary, nil)
            }
            guard status == errSecSuccess else { throw failure("cannot be written", status) }
        }

        private var entry: [CFString: Any] {
            var entry: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword,
                kSecAttrService: service,
                kSecAttrAccount: account,
                // Uses the keychain of iOS on the Mac, too: it shows no dialogs and respects `kSecAttrAccessible`.
                kSecUseDataProtectionKeychain: true,
            ]
            if let accessGroup { entry[kSecAttrAccessGroup] = accessGroup }
            return entry
        }

        private func failure(_ problem: String, _ status: OSStatus) -> CloudKitError {
            let words = SecCopyErrorMessageString(status, nil) as String? ?? "no explanation"
            return .tokenStorage("The Keychain entry \(account) \(problem): \(words) (\(status)).")
        }
    }

    extension TokenStorage where Self == KeychainTokenStorage {
        /// A storage in the Keychain.
        ///
        /// - Parameters:
        ///   - account: The name of the entry; see ``KeychainTokenStorage/init(account:service:accessGroup:)``.
        ///   - accessGroup: The group of apps that share the entry; `nil` for the app's own.
        /// - Returns: The storage.
        public static func keychain(account: String, accessGroup: String? = nil) -> KeychainTokenStorage {
            KeychainTokenStorage(account: account, accessGroup: accessGroup)
        }
    }
#endif
