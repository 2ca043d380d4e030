import GRDB

extension CloudKitEmulator {
    /// Registers an API token for a container, as the console of the service does.
    ///
    /// - Parameters:
    ///   - token: The token, 64 lower-case hexadecimal digits; `nil` makes a new one.
    ///   - container: The container's identifier.
    /// - Returns: The token.
    /// - Throws: An ``EmulatorError``: a `BAD_REQUEST` when the token does not look like one.
    @discardableResult
    public func registerAPIToken(_ token: String? = nil, for container: String) throws -> String {
        let token = token ?? identifiers.hex(32)
        guard token.utf8.count == 64, token.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
        else {
            throw EmulatorError.badRequest("an API token has 64 lower-case hexadecimal digits")
        }
        try write { db in
            try db.execute(sql: "INSERT OR IGNORE INTO api_token VALUES (?, ?)", arguments: [token, container])
        }
        return token
    }

    /// Whether the token is registered for the container.
    func isRegistered(_ token: String, for container: String) throws(EmulatorError) -> Bool {
        if knownCredentials.contains(token, container) { return true }
        let isRegistered = try read { db in
            try Row.fetchOne(
                db.cachedStatement(sql: "SELECT 1 FROM api_token WHERE token = ? AND container = ?"),
                arguments: [token, container]
            ) != nil
        }
        if isRegistered { knownCredentials.insert(token, container) }
        return isRegistered
    }
}
