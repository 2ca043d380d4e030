import ArgumentParser

/// The flags that say which service a command talks to and as whom. Every command has them.
struct ConnectionOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "A JSON file of settings.",
            discussion: "Without it, mistkit.json or else .mistkit/config.json is read, where it exists.",
            valueName: "file"
        ),
        completion: .file(extensions: ["json"])
    )
    var configurationFile: String?

    @Option(
        help: ArgumentHelp(
            "A profile, whose settings replace those of the environment and the file.",
            valueName: "name"
        ),
        completion: .profile
    )
    var profile: String?

    @Option(help: ArgumentHelp("The container, such as iCloud.com.example.app.", valueName: "identifier"))
    var container: String?

    @Option(help: ArgumentHelp("development or production.", valueName: "name"), completion: .environment)
    var environment: String?

    @Option(
        help: ArgumentHelp(
            "public, private or shared; by default private with a user's credentials, public with others.",
            valueName: "name"
        ),
        completion: .database
    )
    var database: String?

    @Option(help: ArgumentHelp("The address of the service, such as that of an emulator.", valueName: "url"))
    var serverURL: String?

    @Option(help: ArgumentHelp("An API token of the container.", valueName: "token"))
    var apiToken: String?

    @Option(
        help: ArgumentHelp("A web authentication token of a user; needs the API token as well.", valueName: "token")
    )
    var webAuthToken: String?

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "A user of the emulator on this machine, by name or user record name; `mistkit users create` makes one.",
            valueName: "user"
        ),
        completion: .localUser
    )
    var user: String?

    @Option(name: .customLong("key-id"), help: ArgumentHelp("The ID of a server-to-server key.", valueName: "id"))
    var keyID: String?

    @Option(
        help: ArgumentHelp("The PEM file of the private key of a server-to-server key.", valueName: "file"),
        completion: .anyFile
    )
    var privateKeyFile: String?

    @Option(
        help: ArgumentHelp("The folder of the embedded emulator's data.", valueName: "folder"),
        completion: .directory
    )
    var dataFolder: String?

    @Flag(name: .shortAndLong, help: "Log each request to standard error, without credentials.")
    var verbose = false
}
