import CloudKitEmulator

extension CloudKitEmulatorServer {
    /// The administration of a running emulator: what `OpenAPI/emulator.yaml` describes.
    ///
    /// A server serves it below ``path`` only where its configuration has one, so a test's emulator has none.
    package struct Administration: Sendable {
        /// What every request has to carry.
        package var secret: StartSecret
        /// The container that the emulator was started for.
        package var container: String
        /// The version of the program.
        package var version: String
        /// How many of the latest requests are kept.
        package var keptRequests: Int

        /// Makes an administration with a new secret.
        ///
        /// - Parameters:
        ///   - container: The container that the emulator is started for.
        ///   - version: The version of the program.
        ///   - keptRequests: How many of the latest requests are kept.
        package init(container: String, version: String, keptRequests: Int = 1000) {
            secret = StartSecret()
            self.container = container
            self.version = version
            self.keptRequests = keptRequests
        }

        /// The part of the path that all requests of the administration have in common.
        package static let path = "/_emulator"

        /// Whether a request is for the administration.
        static func serves(_ path: String) -> Bool {
            guard path.hasPrefix(Self.path) else { return false }
            let next = path.utf8.dropFirst(Self.path.utf8.count).first
            return next == nil || [UInt8(ascii: "/"), UInt8(ascii: "?")].contains(next)
        }
    }
}

/// The secret of one start of an emulator: 256 random bits. It prints as `<redacted>`.
package struct StartSecret: Sendable, CustomStringConvertible, CustomReflectable {
    private let digits: String

    /// Makes a new secret from the system's random numbers.
    package init() {
        digits = IdentifierSource.random.hex(32)
    }

    /// The secret as 64 hexadecimal digits.
    package func revealDigits() -> String { digits }

    package var description: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: []) }

    /// Whether the value of the field `Authorization` carries the secret.
    func isCarried(by authorization: String?) -> Bool {
        guard let parts = authorization?.split(separator: " ", omittingEmptySubsequences: true), parts.count == 2,
            parts[0].lowercased() == "bearer"
        else { return false }
        return isEqual(to: String(parts[1]))
    }

    /// Whether a text is the secret. How long it takes does not depend on where a wrong secret differs.
    func isEqual(to text: String) -> Bool {
        Array(text.utf8).isEqual(inConstantTimeTo: Array(digits.utf8))
    }
}
