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

    func text(at address: URL) -> String {
        var lines = [
            "CloudKit Web Services at \(address.absoluteString)",
            "  container   \(container), development and production",
            "  data        \(dataFolder)/emulator.sqlite",
            "  user        \(userRecordName)",
        ]
        for key in keys { lines.append("  key         \(key.id)  (\(key.path))") }
        for id in earlierKeyIDs { lines.append("  key         \(id)  (registered at an earlier start)") }
        lines += [
            "",
            "For another terminal:",
            "  export MISTKIT_SERVER_URL=\(address.absoluteString)",
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
        return (lines + ["", "Ctrl-C stops it."]).joined(separator: "\n")
    }
}
