import CloudKitEmulator
import CloudKitModel
import Foundation
import HTTPTypes
import Logging
import MistTesting
import NIOCore
import NIOPosix
import Testing

@testable import CloudKitEmulatorServer

/// Which values of `Host` a listening server answers.
struct ServedHostsTests {
    @Test func aServerOnTheLoopbackInterfaceHasOnlyItsNames() {
        let hosts = ServedHosts(listeningOn: "127.0.0.1", others: ["emulator", "Dev.example:8443"])
        #expect(hosts.serve(nil))
        for host in [
            "", "127.0.0.1:8181", "localhost:8181", "LocalHost", "[::1]:9000", "app.localhost", "emulator:1",
            "localhost.", "dev.example:8443", "dev.example",
            // No name server is asked for an address, so it is not another page's.
            "8.8.8.8:8181", "10.0.2.2:8181", "[fe80::1]",
        ] {
            #expect(hosts.serve(host), "\(host)")
        }
        for host in [
            "evil.example", "evil.example:8181", "8.8.8.8.evil.example", "127.0.0.1.evil.example",
            "localhost.evil.example",
            "user@localhost", "localhost:8181:8181", "localhost:x", "[::1]x", "emulator.evil.example", " localhost",
        ] {
            #expect(!hosts.serve(host), "\(host)")
        }
    }

    @Test func aServerOnEveryInterfaceHasTheAddressesOfTheMachine() {
        let hosts = ServedHosts(
            listeningOn: "0.0.0.0",
            addresses: ["192.168.1.5", "fe80::1", "Box.local"],
            others: []
        )
        for host in ["192.168.1.5:8181", "[fe80::1]:8181", "box.local", "localhost", "0.0.0.0:8181"] {
            #expect(hosts.serve(host), "\(host)")
        }
        for host in ["1.2.3.4.5", "other.local", "evil.example:8181"] {
            #expect(!hosts.serve(host), "\(host)")
        }
    }

    @Test(arguments: ["/sign-in", "/web-courier/x", "/B/x/y", "/asset-upload/x", "/no/such", nil])
    func noAddressIsServedUnderAForeignName(_ path: String?) async throws {
        try await withCloudKitEmulator(over: .socket) { emulator in
            let target = path ?? emulator.path("zones/list", in: .private) + "?ckAPIToken=\(emulator.apiToken)"
            let port = emulator.serverURL.port ?? 0
            let foreign = try await rawResponse(to: target, host: "evil.example:\(port)", port: port)
            #expect(foreign.hasPrefix("HTTP/1.1 403 Forbidden\r\n"), "\(foreign)")
            #expect(foreign.contains(#""serverErrorCode":"ACCESS_DENIED""#))
            #expect(foreign.contains("the host 'evil.example:\(port)' is not this server's, which has localhost;"))
            #expect(!foreign.contains("redirectURL"))
            let own = try await rawResponse(to: target, host: "localhost:\(port)", port: port)
            #expect(!own.contains("is not this server's"))
            if path == nil { #expect(own.contains(#""redirectURL":"http://localhost:\#(port)/sign-in?"#)) }
        }
    }

    /// The response to a GET with any value of `Host`. Clients would set the field themselves.
    private func rawResponse(to target: String, host: String, port: Int) async throws -> String {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            let head = "GET \(target) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
            try await outbound.write(ByteBuffer(string: head))
            var text = ""
            for try await buffer in inbound { text += String(buffer: buffer) }
            return text
        }
    }
}
