import ArgumentParser
import CloudKitEmulatorServer
import Foundation
import MistConsole

/// The options on the console's page.
struct ConsolePageOptions: ParsableArguments {
    @Flag(name: .customLong("no-console"), help: "Do not serve the console.")
    var isLeftOut = false

    @Flag(help: "Refuse all writes of the console.")
    var readOnly = false

    @Option(
        help: ArgumentHelp(
            "A password that the console asks for. Other machines can use the console only with one.",
            discussion: "Without the option, that of MISTKIT_CONSOLE_PASSWORD.",
            valueName: "password"
        )
    )
    var consolePassword: String?

    /// The variable of the password, which does not appear in lists of processes.
    static let passwordVariable = "MISTKIT_CONSOLE_PASSWORD"

    func validate() throws {
        guard consolePassword?.isEmpty != true else {
            throw ValidationError("--console-password is empty.\nGive a password, or leave the option out.")
        }
    }

    /// The password of the option or the environment.
    var password: String? {
        let variable = ProcessInfo.processInfo.environment[Self.passwordVariable]
        return consolePassword ?? variable.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The page of a server; `nil` where none is served: as --no-console says, and for other machines without a
    /// password.
    func page(listeningOn host: String) throws -> CloudKitEmulatorServer.ServedPage? {
        guard !isLeftOut, password != nil || HostName.isLocal(listeningOn: host) else { return nil }
        return .console(access: PageAccess(password: password), isReadOnly: readOnly)
    }

    /// The address that opens a session of a page, or that asks for the password.
    static func address(of access: PageAccess, at address: String) -> String {
        access.needsPassword ? "\(address)/" : "\(address)/?\(PageFiles.secretItem)\(access.secret.revealDigits())"
    }
}
