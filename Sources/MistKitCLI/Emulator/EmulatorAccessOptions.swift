import ArgumentParser
import CloudKitEmulatorServer

/// The options on which web pages and people may use the emulator.
struct EmulatorAccessOptions: ParsableArguments {
    @Option(
        name: .customLong("allow-origin"),
        help: ArgumentHelp(
            "An origin whose web pages may use the emulator, beside those of this machine; may be given more than once.",
            discussion: "* allows every origin, and null allows files that a browser opens.",
            valueName: "url"
        )
    )
    var allowedOrigins: [String] = []

    @Option(
        name: .customLong("allow-host"),
        help: ArgumentHelp(
            "A further host name under which clients reach the emulator; may be given more than once.",
            valueName: "name"
        )
    )
    var hostNames: [String] = []

    @Flag(
        name: .customLong("sign-in-without-code"),
        help: "List the users on the sign-in page without the sign-in code. For tests."
    )
    var needsNoCode = false

    func validate() throws {
        do { _ = try AllowedOrigins(allowedOrigins) } catch let error as OriginError {
            throw ValidationError(
                """
                --allow-origin: "\(error.text)" is not an origin.
                Give a scheme, a host and perhaps a port, such as https://app.example or http://192.168.1.20:3000.
                """
            )
        }
    }

    /// Sets what the command line says.
    func apply(to configuration: inout CloudKitEmulatorServer.Configuration) throws {
        configuration.allowedOrigins = try AllowedOrigins(allowedOrigins)
        configuration.hostNames = hostNames
        if needsNoCode { configuration.signInCode = nil }
    }
}
