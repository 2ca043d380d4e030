import ArgumentParser

/// The flags that say which service a command talks to and as whom. Every command has them.
struct ConnectionOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            "A JSON file of settings.",
            discussion: "Read when present: mistkit.json, then .mistkit/config.json.",
            valueName: "file"
        )
    )
    var configurationFile: String?

    @Option(help: ArgumentHelp("The container, such as iCloud.com.example.app.", valueName: "identifier"))
    var container: String?

    @Option(help: ArgumentHelp("development or production.", valueName: "name"))
    var environment: String?

    @Option(
        help: ArgumentHelp(
            "public, private or shared; private with a user's credentials, else public.",
            valueName: "name"
        )
    )
    var database: String?

    @Option(help: ArgumentHelp("The address of the service, for an emulator that runs elsewhere.", valueName: "url"))
    var serverURL: String?

    @Option(help: ArgumentHelp("An API token of the container.", valueName: "token"))
    var apiToken: String?

    @Option(help: ArgumentHelp("A web authentication token of a user, beside the API token.", valueName: "token"))
    var webAuthToken: String?

    @Option(name: .customLong("key-id"), help: ArgumentHelp("The ID of a server-to-server key.", valueName: "id"))
    var keyID: String?

    @Option(help: ArgumentHelp("The file of the server-to-server key's private half, in PEM.", valueName: "file"))
    var privateKeyFile: String?

    @Option(help: ArgumentHelp("The folder of the embedded emulator's data.", valueName: "folder"))
    var dataFolder: String?

    @Flag(name: .shortAndLong, help: "Log each request on standard error; credentials are left out.")
    var verbose = false
}
