import Crypto
import Foundation
import HTTPTypes
import MistTesting
import OpenAPISwiftRuntime
import TestSupport
import Testing

@testable import MistKit

struct SigningTests {
    /// 2016-01-25T22:15:43Z, the date of the verification vector.
    static let date = Date(timeIntervalSince1970: 1_453_760_143)
    static let keyID = String(repeating: "ab", count: 32)

    @Test func theVerificationVectorVerifies() throws {
        let spki = try #require(
            Data(
                base64Encoded: """
                    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEExyuTxu38iAvdkBMeTMHu21cUGud3Tcwg7dcHf/xct4PbjABqtPlMJusFwYXe+k+\
                    YScAFCFrou/EtxjSe575mA==
                    """
            )
        )
        let signature = try #require(
            Data(
                base64Encoded: """
                    MEQCIFhnmC+pvO69Q+AhohRsQQGy3tHKoLoY+v/iEoXC/hRcAiAytfbJ2ZviQj0y9pml12pIvIbP+rfid83eIk7UIXv2Bw==
                    """
            )
        )
        let body = Data(#"{"query":{"recordType":"Note"}}"#.utf8)
        let hash = Data(SHA256.hash(data: body)).base64EncodedString()
        let message = "2016-01-25T22:15:43Z:\(hash):\(HTTPRequest.query.path ?? "")"
        let key = try P256.Signing.PublicKey(derRepresentation: spki)
        #expect(hash == "pHA+lOPYejRxN4Iswc9kV8pFFX5glteEnI4oFVFBk9M=")
        #expect(key.isValidSignature(try .init(derRepresentation: signature), for: Data(message.utf8)))
    }

    @Test func theMessageThatIsSignedIsTheOneOfTheVector() async throws {
        let request = try await sign(body: HTTPBody(#"{"query":{"recordType":"Note"}}"#))
        #expect(request.headers == ["X-Apple-CloudKit-Request-ISO8601Date": "2016-01-25T22:15:43Z"])
        let message = """
            2016-01-25T22:15:43Z:pHA+lOPYejRxN4Iswc9kV8pFFX5glteEnI4oFVFBk9M=:\
            /database/1/iCloud.com.example.app/development/public/records/query
            """
        #expect(try request.verifies(message))
        #expect(try !request.verifies(message + " "))
    }

    @Test func withoutABodyTheHashIsThatOfNoBytes() async throws {
        for body in [nil, HTTPBody()] {
            let request = try await sign(
                method: .get,
                path: "/database/1/c/development/public/users/caller",
                body: body
            )
            #expect(
                try request.verifies(
                    """
                    2016-01-25T22:15:43Z:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:\
                    /database/1/c/development/public/users/caller
                    """
                )
            )
        }
    }

    @Test func theQueryIsSignedAsItGoesOnTheRequestLineAndTheFolderOfAProxyIsNot() async throws {
        let request = try await sign(
            method: .get,
            path: "/database/1/c/development/public/zones/list?name=a%20b%2Bc",
            baseURL: "https://example.com/cloud%20kit/",
            body: nil
        )
        #expect(
            try request.verifies(
                """
                2016-01-25T22:15:43Z:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:\
                /database/1/c/development/public/zones/list?name=a%20b%2Bc
                """
            )
        )
    }

    @Test(arguments: [HTTPBody.Length.unknown, .known(5_000_000)])
    func aStreamedBodyOfSeveralMegabytesIsSignedAndStillSent(length: HTTPBody.Length) async throws {
        let chunks = (0..<50).map { number in ArraySlice([UInt8](repeating: UInt8(number), count: 100_000)) }
        let stream = AsyncStream<HTTPBody.ByteChunk> { continuation in
            for chunk in chunks { continuation.yield(chunk) }
            continuation.finish()
        }
        let request = try await sign(body: HTTPBody(stream, length: length))
        let body = try #require(request.outgoing.body)
        let sent = try await [UInt8](collecting: body, upTo: .max)
        #expect(sent == Array(chunks.joined()))
        let hash = Data(SHA256.hash(data: sent)).base64EncodedString()
        #expect(try request.verifies("2016-01-25T22:15:43Z:\(hash):\(HTTPRequest.query.path ?? "")"))
    }

    @Test(.enabled(if: hasOpenSSL, "openssl is not installed"))
    func opensslVerifiesWhatWeSign() async throws {
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 3_000_000)
        let request = try await sign(body: HTTPBody(body))
        let hash = Data(SHA256.hash(data: body)).base64EncodedString()
        let message = "2016-01-25T22:15:43Z:\(hash):\(HTTPRequest.query.path ?? "")"
        try withTemporaryFolder { folder in
            let key = folder.appending(path: "key.pem").path
            let signature = folder.appending(path: "signature").path
            try request.key.publicKeyPEM.write(toFile: key, atomically: true, encoding: .utf8)
            try request.signature.write(to: URL(fileURLWithPath: signature))
            let good = try run(
                "openssl",
                "dgst",
                "-sha256",
                "-verify",
                key,
                "-signature",
                signature,
                input: Array(message.utf8)
            )
            #expect(good.output == "Verified OK\n")
            let bad = try run(
                "openssl",
                "dgst",
                "-sha256",
                "-verify",
                key,
                "-signature",
                signature,
                input: Array((message + "x").utf8)
            )
            #expect(bad.code != 0)
        }
    }

    @Test func everyAttemptIsSignedAgain() async throws {
        let key = ServerToServerKey.generate()
        let clock = TestClock(skippingWaits: true).timer
        let transport = FakeTransport([
            reply(.tooManyRequests, #"{"serverErrorCode":"THROTTLED","retryAfter":7}"#), reply(),
        ])
        let start = clock.now
        let manager = ServerToServerAuthManager(keyID: Self.keyID, privateKey: key) {
            Self.date.addingTimeInterval(TimeInterval(start.duration(to: clock.now).components.seconds))
        }
        let pipeline = TestPipeline(
            tokenManager: manager,
            retryPolicy: RetryPolicy(baseDelay: .zero, deadline: .seconds(3600)),
            logger: RecordedLog().logger(),
            clock: clock
        )
        _ = try await pipeline.send(body: "{}", over: transport)
        #expect(
            transport.sent.map { $0.request.headerFields[.requestDate] } == [
                "2016-01-25T22:15:43Z", "2016-01-25T22:15:50Z",
            ]
        )
        let signatures = transport.sent.map { $0.request.headerFields[.requestSignature] }
        #expect(signatures[0] != signatures[1])
    }

    // MARK: - Support

    private struct SignedRequest {
        var outgoing: OutgoingRequest
        var key: ServerToServerKey

        /// The header fields that are not secret.
        var headers: [String: String] {
            var headers: [String: String] = [:]
            for field in outgoing.headerFields where ![.requestKeyID, .requestSignature].contains(field.name) {
                headers[field.name.rawName] = field.value
            }
            return headers
        }

        var signature: Data {
            get throws {
                let text = try #require(outgoing.headerFields[.requestSignature])
                return try #require(Data(base64Encoded: text))
            }
        }

        func verifies(_ message: String) throws -> Bool {
            let key = try P256.Signing.PublicKey(pemRepresentation: key.publicKeyPEM)
            return key.isValidSignature(try .init(derRepresentation: signature), for: Data(message.utf8))
        }
    }

    private func sign(
        method: HTTPRequest.Method = .post,
        path: String? = HTTPRequest.query.path,
        baseURL: String = "https://api.apple-cloudkit.com",
        body: HTTPBody?
    ) async throws -> SignedRequest {
        let key = ServerToServerKey.generate()
        let manager = ServerToServerAuthManager(keyID: Self.keyID, privateKey: key, now: { Self.date })
        var outgoing = OutgoingRequest(
            HTTPRequest(method: method, scheme: nil, authority: nil, path: path),
            body: body,
            baseURL: try #require(URL(string: baseURL)),
            operationID: "queryRecords"
        )
        try await manager.authenticate(&outgoing)
        #expect(outgoing.headerFields[.requestKeyID] == Self.keyID)
        return SignedRequest(outgoing: outgoing, key: key)
    }
}
