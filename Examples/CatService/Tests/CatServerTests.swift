import CatServiceAPI
import Foundation
import Hummingbird
import HummingbirdTesting
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftRuntime
import Testing

@testable import CatServer

/// The server: its handlers behind a transport in this process, and all of it behind a socket.
struct CatServerTests {
    private let cats = CatHandlers(chooseCat: { "🐈" })

    private func inProcess() throws -> Client {
        let transport = InProcessTransport()
        try cats.registerHandlers(on: transport, serverURL: Servers.Server1.url())
        return Client(serverURL: try Servers.Server1.url(), transport: transport)
    }

    @Test(arguments: [(nil, 1), (1, 1), (100, 100)])
    func sendsAsManyCatsAsAreAskedFor(count: Int?, expected: Int) async throws {
        let response = try await inProcess().getEmoji(query: .init(count: count)).ok
        let text = try await String(collecting: response.body.plainText, upTo: 1000)
        #expect(text == String(repeating: "🐈", count: expected))
    }

    @Test(arguments: [0, -1, 101])
    func refusesOtherNumbers(count: Int) async throws {
        let response = try await inProcess().getEmoji(query: .init(count: count)).badRequest
        let reason = try await String(collecting: response.body.plainText, upTo: 1000)
        #expect(reason == "There are 1 to 100 cats, not \(count).")
    }

    @Test func aSocketCarriesBothOperations() async throws {
        let app = Application(router: try CatServer.router(cats))
        try await app.test(.live) { server in
            let port = try #require(server.port)
            let url = try #require(URL(string: "http://localhost:\(port)/api"))
            let client = Client(serverURL: url, transport: AsyncHTTPClientTransport())

            let text = try await client.getEmoji(query: .init(count: 2)).ok.body.plainText
            #expect(try await String(collecting: text, upTo: 100) == "🐈🐈")

            let body = try await client.getClip().ok.body.binary
            let clip = try await [UInt8](collecting: body, upTo: 2_000_000)
            let header = Array("YUV4MPEG2 W192 H128 F10:1 Ip Cmono\n".utf8)
            let frame = 6 + 192 * 128
            #expect(clip.starts(with: header + Array("FRAME\n".utf8)))
            #expect(clip.count == header.count + 50 * frame)
            #expect(body.length == .known(Int64(clip.count)))
        }
    }
}
