import ArgumentParser
import Foundation
import MistMutationQueue
import OpenAPISwiftAsyncHTTPClient
import Peated
import PeatedOffline

/// `peated sign-in`
struct SignInCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-in",
        abstract: "Begin a session. What the user wrote before is sent.",
        discussion: "Other users who have signed in on this machine keep what they wrote; it is not sent meanwhile."
    )

    @Argument(help: "The e-mail address.")
    var email: String

    @Option(
        help: ArgumentHelp(
            "The password. Without it, the variable PEATED_PASSWORD has it, or you are asked.",
            valueName: "text"
        )
    )
    var password: String?

    @Option(help: ArgumentHelp("The address of the service.", valueName: "url"))
    var server = "http://127.0.0.1:8080/v1"

    @OptionGroup(title: "This machine")
    var options: NotebookOptions

    func run() async throws {
        try await explainingFailures {
            guard let url = URL(string: server), ["http", "https"].contains(url.scheme), url.host() != nil else {
                throw CommandFailure(
                    code: 64,
                    message: "\(server) is not the address of a service. Write it as http://127.0.0.1:8080/v1."
                )
            }
            let password = self.password ?? ProcessInfo.processInfo.environment["PEATED_PASSWORD"] ?? ask()
            do {
                let notebook = try await options.accounts.signIn(
                    url,
                    email: email,
                    password: password,
                    transport: AsyncHTTPClientTransport(),
                    settings: options.settings
                )
                print("Welcome, \(notebook.account.username).")
                try await notebook.sendAndReport(isAsked: try await !notebook.status().isEmpty)
            } catch PeatedError.unauthorized(let message) {
                throw CommandFailure(code: 77, message: message)
            }
        }
    }

    private func ask() -> String {
        guard isatty(STDIN_FILENO) == 1, let text = getpass("Password: ") else { return readLine() ?? "" }
        return String(cString: text)
    }
}

/// `peated sign-out`
struct SignOutCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign-out",
        abstract: "End the session. What was not sent waits until the same user signs in again."
    )

    @OptionGroup(title: "This machine")
    var options: NotebookOptions

    func run() async throws {
        try await options.withNotebook { notebook in
            try await options.accounts.signOut(notebook)
            let status = try await notebook.status()
            print("Goodbye, \(notebook.account.username).")
            if !status.isEmpty { print("\(status.total) not sent: they wait until you sign in again.") }
        }
    }
}
