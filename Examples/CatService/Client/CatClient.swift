import CatServiceAPI
import Foundation
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftRuntime

/// `CatClient emoji [count]` and `CatClient clip > cat.y4m`.
@main
enum CatClient {
    static func main() async {
        do {
            try await run(CommandLine.arguments.dropFirst())
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: ArraySlice<String>) async throws {
        let client = Client(serverURL: try Servers.Server1.url(), transport: AsyncHTTPClientTransport())
        let fan = CatFan(cats: client)
        switch arguments.first {
        case "emoji":
            print(try await fan.emoji(count: arguments.dropFirst().first.flatMap { Int($0) }))
        case "clip":
            for try await chunk in try await fan.clip() {
                try FileHandle.standardOutput.write(contentsOf: chunk)
            }
        default:
            print("usage: CatClient emoji [count] | clip > cat.y4m")
        }
    }
}
