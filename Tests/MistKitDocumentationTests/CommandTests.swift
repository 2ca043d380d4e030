import ArgumentParser
import Foundation
import MistModels
import MistTesting
import Testing

struct AddFeed: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Add a feed to the public database.")

    @Argument(
        help: "The feed's address.",
        transform: { text in
            guard let url = URL(string: text), url.scheme != nil else {
                throw ValidationError("\(text) is no address.")
            }
            return url
        }
    )
    var address: URL

    @Option(help: "What it is about.")
    var category = "news"

    func run() async throws {
        do {
            let service = try CloudKitService.fromEnvironment()
            print(try await add(to: service.publicDatabase))
        } catch let error as CloudKitError {
            throw ExitCode(explaining: error)
        }
    }

    /// Adds the feed, or says that it is there.
    func add(to database: CloudKitDatabase) async throws -> String {
        let name = "feed-" + address.absoluteString.utf8.map { String($0, radix: 16) }.joined().suffix(200)
        do {
            let feed = try await database.save(
                Feed(feedURL: address, title: address.host() ?? "", category: category),
                named: name
            )
            return "Added \(feed.title) as \(feed.recordName)."
        } catch let error as CloudKitError where error.code == .exists || error.code == .conflict {
            return "\(address.absoluteString) is there already."
        }
    }
}

extension ExitCode {
    /// Tells a script whether to try again, after the error was explained to a person.
    init(explaining error: CloudKitError) {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        self =
            switch error.code {
            case .invalidCredentials, .authenticationFailed, .authenticationRequired, .accessDenied: ExitCode(77)
            case .invalidArgument, .badRequest, .decoding: ExitCode(65)
            default: error.isTransient ? ExitCode(75) : .failure
            }
    }
}

/// The Swift of "In a command-line tool".
@Suite(.serialized)
struct CommandTests {
    @Test func aFeedIsAddedOnce() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .serverKey).publicDatabase
            let command = try AddFeed.parse(["https://www.swift.org/atom.xml", "--category", "programming"])
            #expect(try await command.add(to: database).hasPrefix("Added www.swift.org"))
            #expect(try await command.add(to: database) == "https://www.swift.org/atom.xml is there already.")
        }
    }

    @Test func scriptsLearnWhetherToTryAgain() {
        #expect(ExitCode(explaining: CloudKitError(code: .throttled, message: "Later.")) == ExitCode(75))
        #expect(ExitCode(explaining: CloudKitError(code: .invalidCredentials, message: "No.")) == ExitCode(77))
    }
}
