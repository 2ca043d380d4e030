import ArgumentParser
import MistKit

/// `mistkit users`
struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Look up the people who use the container, and make users of an emulator.",
        subcommands: [
            CurrentUserCommand.self, LookUpUsersCommand.self, ListUsersCommand.self, CreateUserCommand.self,
            RestrictUserCommand.self, UnrestrictUserCommand.self,
        ]
    )
}

extension ValueList<UserIdentity> {
    fileprivate static let users = ValueList(
        emptyNote: "No users.",
        columns: [
            Column("user") { $0.userRecordName },
            Column("name") { identity in
                [identity.nameComponents?.givenName, identity.nameComponents?.familyName].compactMap(\.self)
                    .joined(separator: " ")
            },
            Column("address") { $0.lookupInfo?.emailAddress ?? $0.lookupInfo?.phoneNumber },
        ]
    )
}

/// `mistkit users me`
struct CurrentUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "me",
        abstract: "Print the user whose credentials the command has.",
        discussion: """
            Examples:
              mistkit users me
              mistkit users me --format json
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let user = try await ServiceConnection.open(connection).service.fetchCaller()
        try ValueList.users.write([user], as: output)
    }
}

/// `mistkit users lookup`
struct LookUpUsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lookup",
        abstract: "Find people by e-mail address, phone number or user record name.",
        discussion: """
            The service finds people who use the container and can be discovered.

            Examples:
              mistkit users lookup ben@example.com
              mistkit users lookup +4712345678 _2f1c8e
            """
    )

    @Argument(help: "E-mail addresses, phone numbers that begin with +, and user record names that begin with _.")
    var people: [String]

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let lookups = try people.map { (text) throws(CommandError) in try LookupInfo(argument: text) }
        let results = try await ServiceConnection.open(connection).service.discoverUsers(lookups)
        try ValueList.users.write(results, as: output, noun: "users")
    }
}

/// `mistkit users list`
struct ListUsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the people in the user's contacts who use the container and can be discovered.",
        discussion: """
            Examples:
              mistkit users list
              mistkit users list --format csv
            """
    )

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func run() async throws {
        let users = try await ServiceConnection.open(connection).service.discoverAllUsers()
        try ValueList.users.write(users, as: output)
    }
}

/// `mistkit users create`
struct CreateUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make another user of the emulator on this machine.",
        discussion: """
            The user is one of the emulator that runs with the same data folder, or of the embedded one, which share the data. --as lets one command act as \
            the user, and `mistkit auth sign-in --user` all later ones. Users of Apple's service are Apple Accounts, which no command makes.

            Examples:
              mistkit users create Mei
              mistkit users create 'Ben Berg' --email ben@example.com
            """
    )

    @Argument(help: "The person's given name, and behind a space the family name.")
    var name: String?

    @Option(help: ArgumentHelp("The e-mail address of the account.", valueName: "text"))
    var email: String?

    @Option(help: ArgumentHelp("The phone number of the account.", valueName: "number"))
    var phone: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        if let name, name.contains("@") {
            throw ValidationError(
                "\"\(name)\" is an e-mail address, not a name.\nWrite: mistkit users create Ben --email \(name)"
            )
        }
    }

    func run() async throws {
        let administration = try await EmulatorAdministration.of(Settings.read(flags: connection))
        let user = try await administration.createUser(name, emailAddress: email, phoneNumber: phone)
        let identity = UserIdentity(
            userRecordName: user.recordName,
            nameComponents: user.nameComponents,
            lookupInfo: email.map { .emailAddress($0) } ?? phone.map { .phoneNumber($0) }
        )
        try ValueList.users.write([identity], as: output)
    }
}

extension LookupInfo {
    /// Reads a person from the command line.
    ///
    /// - Throws: A ``CommandError`` for a text that is not an e-mail address, a phone number or a user record name.
    init(argument: String) throws(CommandError) {
        if argument.contains("@") {
            self = .emailAddress(argument)
        } else if argument.hasPrefix("_") {
            self = .userRecordName(argument)
        } else if argument.hasPrefix("+") {
            self = .phoneNumber(argument)
        } else {
            throw CommandError(
                code: .usage,
                message: "\"\(argument)\" does not name a person.",
                remedy: "Give an e-mail address, a phone number that begins with +, or a user record name."
            )
        }
    }
}
