import ArgumentParser
import CloudKitEmulatorServer
import Foundation
import MistConsole
import MistSignIn

/// The options on the console's page, for every command that serves it.
struct ConsolePageOptions: ParsableArguments {
    @Flag(help: "Refuse all writes of the console.")
    var readOnly = false

    @Option(
        help: ArgumentHelp(
            "A password that the console asks for. Other machines can use the console only with one.",
            discussion: "Without the option, that of MISTKIT_CONSOLE_PASSWORD.",
            valueName: "text"
        )
    )
    var consolePassword: String?

    @Flag(name: .customLong("open"), help: "Open the console in the browser.")
    var opensBrowser = false

    /// The variable of the password, which does not appear in lists of processes.
    static let passwordVariable = "MISTKIT_CONSOLE_PASSWORD"

    func validate() throws {
        guard consolePassword?.isEmpty != true else {
            throw ValidationError("--console-password is empty.\nGive a password, or leave the option out.")
        }
    }

    /// Who may use the page of a server; `nil` where other machines reach it and there is no password.
    func access(listeningOn host: String) -> PageAccess? {
        let variable = ProcessInfo.processInfo.environment[Self.passwordVariable]
        let password = consolePassword ?? variable.flatMap { $0.isEmpty ? nil : $0 }
        guard password != nil || HostName.isLocal(listeningOn: host) else { return nil }
        return PageAccess(password: password)
    }

    /// Opens the console in the browser, if the option asks for it.
    ///
    /// - Parameters:
    ///   - access: Who may use the page.
    ///   - address: The address for this machine, without a slash at the end.
    func openBrowser(_ access: PageAccess, at address: String) {
        // Other users of the machine can see the command line of the browser, so its secret opens the page once.
        let secret = access.needsPassword ? nil : access.makeSingleUseSecret()
        guard opensBrowser, let url = URL(string: Self.address(secret, at: address)) else { return }
        do {
            try WebAuthenticator.openInBrowser(url)
        } catch {
            Terminal.writeLine("No browser opens: open the address.")
        }
    }

    /// The address that opens a session of a page, or that asks for the password.
    static func address(of access: PageAccess, at address: String) -> String {
        self.address(access.needsPassword ? nil : access.secret, at: address)
    }

    private static func address(_ secret: StartSecret?, at address: String) -> String {
        "\(address)/" + (secret.map { "?\(PageFiles.secretItem)\($0.revealDigits())" } ?? "")
    }
}
