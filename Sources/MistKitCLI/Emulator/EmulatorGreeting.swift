import CloudKitEmulatorServer
import CloudKitModel
import Foundation

/// What `mistkit emulator` prints when it listens: where the data are, and the settings for another terminal.
struct EmulatorGreeting {
    var container: String
    var dataFolder: String
    var userRecordName: String
    var apiToken: String
    var webAuthToken: String
    var tokenExpires: Date
    /// The server-to-server keys of this start: the file of each public key, and its ID.
    var keys: [(path: String, id: String)] = []
    /// The keys that earlier starts registered.
    var earlierKeyIDs: [String] = []
    var signInCallback: String?
    /// What a person gives on the sign-in page to become an existing user; `nil` when the page does not ask.
    var signInCode: String?
    var reachableFrom = Reach.thisMachine
    /// Who may use the console; `nil` where it is not served.
    var page: PageAccess?

    /// The machines that can reach the emulator.
    enum Reach {
        case thisMachine
        case network

        /// Decides it by the host on which the emulator listens.
        init(host: String) {
            self = HostName.isLocal(listeningOn: host) ? .thisMachine : .network
        }
    }

    /// The address for this machine. An emulator that listens on every interface has no address of its own.
    static func localAddress(_ address: URL) -> String {
        address.absoluteString
            .replacing("//0.0.0.0:", with: "//127.0.0.1:").replacing("//[::]:", with: "//[::1]:")
    }

    func localAddress(_ address: URL) -> String { Self.localAddress(address) }

    /// The address of the console for this machine; `nil` where it is not served.
    func consoleAddress(_ address: URL) -> String? {
        page.map { ConsolePageOptions.address(of: $0, at: localAddress(address)) }
    }

    func text(at address: URL) -> String {
        let localAddress = localAddress(address)
        var lines = ["CloudKit Web Services at \(address.absoluteString)"]
        if let console = consoleAddress(address) { lines.append("  console     \(console)") }
        lines += [
            "  container   \(container), development and production",
            "  data        \(dataFolder)/emulator.sqlite",
            "  user        \(userRecordName)",
        ]
        if let signInCode {
            lines.append("  code        \(signInCode)  (for the sign-in page, until the emulator stops)")
        }
        for key in keys { lines.append("  key         \(key.id)  (\(key.path))") }
        for id in earlierKeyIDs { lines.append("  key         \(id)  (registered at an earlier start)") }
        lines += [
            "",
            "For another terminal:",
            "  export MISTKIT_SERVER_URL=\(localAddress)",
            "  export MISTKIT_CONTAINER=\(container)",
            "and then, as the user, until \(FieldText.describe(tokenExpires)):",
            "  export MISTKIT_API_TOKEN=\(apiToken)",
            "  export MISTKIT_WEB_AUTH_TOKEN='\(webAuthToken)'",
            "or, to sign in as another user, the first of the two and:",
            "  mistkit auth sign-in" + (signInCallback.map { " --callback \($0)" } ?? ""),
        ]
        if let key = keys.first.map({ ($0.id, "the private key of \($0.path)") })
            ?? earlierKeyIDs.first.map({ ($0, "its private key") })
        {
            lines += [
                "or, with a server-to-server key:",
                "  export MISTKIT_KEY_ID=\(key.0)",
                "  export MISTKIT_PRIVATE_KEY_FILE=<file with \(key.1)>",
            ]
        } else {
            lines += [
                "or, with a server-to-server key, make one and start the emulator with it:",
                "  mistkit auth keygen > key.pub && mistkit emulator --public-key key.pub",
            ]
        }
        if reachableFrom == .network {
            lines += [
                "",
                "Every machine that reaches \(address.absoluteString) can use this emulator. There is no TLS, so those who see",
                "the network can read tokens and records. Without --host, only this machine can use it.",
                page == nil
                    ? "The console is not served to other machines without a password: --console-password."
                    : "The console asks for the password of --console-password.",
            ]
        }
        return (lines + ["", "Ctrl-C stops it."]).joined(separator: "\n")
    }
}
