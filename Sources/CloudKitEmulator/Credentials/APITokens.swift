public import CloudKitModel
import GRDB

extension CloudKitEmulator {
    /// Registers an API token for one environment of a container, as the console of the service does.
    ///
    /// ```swift
    /// let token = try emulator.registerAPIToken(for: "iCloud.com.example.notes")
    /// // Requests to /database/1/iCloud.com.example.notes/development/… may carry it.
    /// try emulator.registerAPIToken(token, for: "iCloud.com.example.notes", in: .production)
    /// // Now requests to …/production/… may, too. Tokens of the service hold in one environment only.
    /// ```
    ///
    /// - Parameters:
    ///   - token: The token, 64 lower-case hexadecimal digits; `nil` makes a new one.
    ///   - container: The container's identifier.
    ///   - environment: The environment in which the token is valid.
    /// - Returns: The token.
    /// - Throws: An ``EmulatorError``: a `BAD_REQUEST` when the token does not have 64 lower-case hexadecimal digits.
    @discardableResult
    public func registerAPIToken(
        _ token: String? = nil,
        for container: String,
        in environment: ContainerEnvironment = .development
    ) throws -> String {
        let token = token ?? identifiers.hex(32)
        guard token.utf8.count == 64, token.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
        else {
            throw EmulatorError.badRequest("an API token has 64 lower-case hexadecimal digits")
        }
        try write { db in
            try db.run(
                "INSERT OR IGNORE INTO api_token (token, container, environment) VALUES (?, ?, ?)",
                [token, container, environment.rawValue]
            )
        }
        return token
    }

    /// Whether the token is registered for the environment of the container.
    func isRegistered(
        _ token: String,
        for container: String,
        in environment: ContainerEnvironment
    ) throws(EmulatorError) -> Bool {
        if token.hasControlCharacters || container.hasControlCharacters { return false }
        let name = KnownValues<Bool>.Name(text: token, container: container, environment: environment)
        if knownTokens[name] == true { return true }
        let isRegistered = try read { db in
            try db.row(
                "SELECT 1 FROM api_token WHERE token = ? AND container = ? AND environment = ?",
                [token, container, environment.rawValue]
            ) != nil
        }
        if isRegistered { knownTokens[name] = true }
        return isRegistered
    }
}
