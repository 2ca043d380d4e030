#if canImport(Security)
    import Foundation
    import Peated
    import Security

    /// A store in the keychain of Apple's platforms.
    struct KeychainCredentialStore: CredentialStore {
        /// The name under which the tokens of a user are kept.
        let account: String

        private var query: [CFString: Any] {
            [kSecClass: kSecClassGenericPassword, kSecAttrService: "peated", kSecAttrAccount: account]
        }

        func load() throws -> Credentials? {
            var query = query
            query[kSecReturnData] = true
            var found: CFTypeRef?
            let status = SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            guard status == errSecSuccess, let data = found as? Data else { throw KeychainError(status: status) }
            return try JSONDecoder().decode(Credentials.self, from: data)
        }

        func save(_ credentials: Credentials?) throws {
            guard let credentials else {
                let status = SecItemDelete(query as CFDictionary)
                guard [errSecSuccess, errSecItemNotFound].contains(status) else { throw KeychainError(status: status) }
                return
            }
            let data = try JSONEncoder().encode(credentials)
            var status = SecItemUpdate(query as CFDictionary, [kSecValueData: data] as CFDictionary)
            if status == errSecItemNotFound {
                status = SecItemAdd(query.merging([kSecValueData: data]) { $1 } as CFDictionary, nil)
            }
            guard status == errSecSuccess else { throw KeychainError(status: status) }
        }
    }

    /// A refusal of the keychain.
    struct KeychainError: LocalizedError {
        let status: OSStatus

        var errorDescription: String? {
            let reason = SecCopyErrorMessageString(status, nil) as String? ?? "status \(status)"
            return "The keychain refuses this: \(reason)"
        }
    }
#endif
