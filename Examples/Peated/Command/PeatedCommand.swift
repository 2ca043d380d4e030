import Foundation
import Hummingbird
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime
import Peated
import PeatedStub

/// `PeatedCommand stub` serves the stub; all other commands send requests. The session is kept between runs in
/// `~/.peated/credentials.json`.
@main
enum PeatedCommand {
    static let usage = """
        usage: PeatedCommand stub                               serve the stub on port 8080
               PeatedCommand login ada@example.com peat         begin a session
               PeatedCommand feed [global|friends|own] [count]  list tastings
               PeatedCommand bottles [words]                    list bottles
               PeatedCommand taste <bottle> <rating> [notes]    add a tasting
               PeatedCommand toast <tasting>                    raise a glass
               PeatedCommand picture <tasting> <file.jpg>       add a picture
               PeatedCommand logout                             end the session
        """

    static func main() async {
        do {
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("\(explanation(of: error))\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        let serverURL = try Servers.Server1.url()
        let peated = PeatedClient(
            serverURL: serverURL,
            credentials: FileCredentialStore(file: .homeDirectory.appending(path: ".peated/credentials.json")),
            transport: AsyncHTTPClientTransport()
        )
        func argument(_ index: Int) -> String? { index < arguments.count ? arguments[index] : nil }

        switch (argument(0), argument(1), argument(2)) {
        case ("stub", _, _):
            let router = Router()
            try PeatedStub().register(on: HummingbirdTransport(router), serverURL: serverURL)
            try await Application(router: router, configuration: .init(address: .hostname("127.0.0.1", port: 8080)))
                .runService()
        case ("login", let email?, let password?):
            print("Welcome, \(try await peated.logIn(email: email, password: password).username).")
        case ("logout", _, _):
            try await peated.logOut()
        case ("feed", let filter, let count):
            let filter = FeedFilter(rawValue: filter ?? "global") ?? .global
            for try await tasting in peated.feed(filter).prefix(count.flatMap { Int($0) } ?? 10) {
                print(line(for: tasting))
            }
        case ("bottles", _, _):
            for try await bottle in peated.bottles(matching: arguments.dropFirst().joined(separator: " ")) {
                print("\(bottle.id)  \(bottle.brand) \(bottle.name)")
            }
        case ("taste", let bottle?, let rating?):
            let notes = arguments.dropFirst(3).joined(separator: " ")
            let new = NewTasting(bottleId: bottle, notes: notes.isEmpty ? nil : notes, rating: Double(rating))
            print(line(for: try await peated.add(new)))
        case ("toast", let tasting?, _):
            print(line(for: try await peated.toast(tasting)))
        case ("picture", let tasting?, let file?):
            print(line(for: try await peated.upload(imageAt: URL(filePath: file), to: tasting)))
        default:
            print(usage)
        }
    }

    private static func line(for tasting: Tasting) -> String {
        let stars = tasting.rating.map { "\($0)" } ?? "-"
        let picture = tasting.imageUrl.map { "  [\($0)]" } ?? ""
        return "\(tasting.id)  \(stars)  \(tasting.bottle.brand) \(tasting.bottle.name), \(tasting.author.username): "
            + "\(tasting.notes ?? "")  (toasts: \(tasting.toasts))\(picture)"
    }

    private static func explanation(of error: any Error) -> String {
        switch error as? PeatedError {
        case .unauthorized(let message): "\(message) Try: PeatedCommand login <email> <password>"
        case .validation(let message, let fields):
            ([message] + fields.sorted { $0.key < $1.key }.map { "  \($0.key) \($0.value.joined(separator: ", "))" })
                .joined(separator: "\n")
        case .server(let status, let message): "The service answers \(status): \(message)"
        case .decoding(let error): "The service's answer cannot be read: \(error)"
        case .network(let error): error.message
        case .local(let error): error.localizedDescription
        case .cancelled: "Cancelled."
        case nil: "\(error)"
        }
    }
}
