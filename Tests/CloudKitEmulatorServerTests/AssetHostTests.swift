import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitModel
import Foundation
import HTTPTypes
import Logging
import MistTesting
import OpenAPISwiftRuntime
import StreamingJSON
import Synchronization
import Testing

/// The host of assets, tested with raw requests.
@Suite(.serialized)
struct AssetHostTests {
    static let connections = EmulatorConnection.allCases
    private let picture: [UInt8] = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

    @Test(arguments: connections)
    func theHostAnswersLikeAnotherOne(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let upload = try await emulator.uploadTarget(for: "photo", named: "a")
            let response = try await emulator.send(.host(.post, upload), body: picture)
            #expect(response.status == .ok)
            for name in ["X-Apple-Request-UUID", "X-Apple-CloudKit-Version", "X-Apple-CloudKit-Web-Auth-Token"] {
                #expect(response.headerFields[HTTPField.Name(name)!] == nil, "\(name)")
            }
            let again = try await emulator.send(.host(.post, upload), body: picture)
            #expect(again.status == .gone)
            #expect(again.body == [])
            let unknown = try await emulator.send(.host(.post, "/asset-upload/nonsense"), body: picture)
            #expect(unknown.status == .notFound)
            let get = try await emulator.send(.host(.get, upload))
            #expect(get.status == .methodNotAllowed)
            #expect(get.headerFields[.allow] == "POST, OPTIONS")
        }
    }

    @Test(arguments: connections)
    func rangesAreThoseOfHTTP(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let target = try await emulator.savedAsset(picture, named: "a")
            let size = picture.count
            let whole = try await emulator.send(.host(.get, target))
            let tag = try #require(whole.headerFields[.eTag])
            #expect(whole.headerFields[.acceptRanges] == "bytes")
            for (range, ifRange, expected) in [
                ("bytes=0-0", nil, 0..<1), ("bytes=5-", nil, 5..<size), ("bytes=-10", nil, size - 10..<size),
                ("bytes=-9999999", nil, 0..<size), ("BYTES=262143-262145", nil, 262_143..<262_146),
                ("bytes=10-99999999", nil, 10..<size), ("bytes=7-8", tag, 7..<9),
                ("bytes=5-99999999999999999999", nil, 5..<size), ("bytes=-99999999999999999999", nil, 0..<size),
            ] as [(String, String?, Range<Int>)] {
                var request = HTTPRequest.host(.get, target)
                request.headerFields[.range] = range
                request.headerFields[.ifRange] = ifRange
                let part = try await emulator.send(request)
                #expect(part.status == .partialContent, "\(range)")
                #expect(part.body == Array(picture[expected]), "\(range)")
                let expectedRange = "bytes \(expected.lowerBound)-\(expected.upperBound - 1)/\(size)"
                #expect(part.headerFields[.contentRange] == expectedRange)
            }
            for (range, ifRange) in [
                ("bytes=0-1,5-6", nil), ("lines=0-1", nil), ("bytes=5-2", nil), ("bytes=-", nil), ("bytes=x-y", nil),
                ("bytes=0-1", "\"another\""),
            ] as [(String, String?)] {
                var request = HTTPRequest.host(.get, target)
                request.headerFields[.range] = range
                request.headerFields[.ifRange] = ifRange
                let all = try await emulator.send(request)
                #expect(all.status == .ok, "\(range)")
                #expect(all.body == picture, "\(range)")
            }
            for range in ["bytes=\(size)-", "bytes=-0", "bytes=99999999999999999999-"] {
                var request = HTTPRequest.host(.get, target)
                request.headerFields[.range] = range
                let none = try await emulator.send(request)
                #expect(none.status == .rangeNotSatisfiable)
                #expect(none.headerFields[.contentRange] == "bytes */\(size)")
            }
        }
    }

    @Test(arguments: connections)
    func addressesGoOutOfDate(_ connection: EmulatorConnection) async throws {
        let clock = TestClock()
        try await withCloudKitEmulator(over: connection, clock: clock) { emulator in
            let target = try await emulator.savedAsset(picture, named: "a")
            let upload = try await emulator.uploadTarget(for: "photo", named: "b")
            let tampered = try await emulator.send(.host(.get, target + "x"))
            #expect(tampered.status == .forbidden)
            clock.advance(by: 60 * 60)
            #expect(try await emulator.send(.host(.get, target)).status == .gone)
            #expect(try await emulator.send(.host(.head, target)).status == .gone)
            #expect(try await emulator.send(.host(.post, upload), body: [1]).status == .gone)
        }
    }

    @Test(arguments: connections)
    func aFileThatIsTooLongIsContentTooLarge(_ connection: EmulatorConnection) async throws {
        var configuration = EmulatorConfiguration()
        configuration.limits.assetSize = 1000
        try await withCloudKitEmulator(over: connection, configuration: configuration) { emulator in
            let upload = try await emulator.uploadTarget(for: "photo", named: "a")
            let long = try await emulator.send(.host(.post, upload), body: [UInt8](repeating: 1, count: 1001))
            #expect(long.status == .contentTooLarge)
            #expect(try await emulator.send(.host(.post, upload), body: [1]).status == .ok)
        }
    }

    /// When the next bytes are requested, most bytes before them are in the database's files already: the server does
    /// not collect them.
    @Test(arguments: connections)
    func anUploadIsStoredAsItComes(_ connection: EmulatorConnection) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "upload-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var configuration = EmulatorConfiguration()
        configuration.limits.assetSize = 1 << 40
        let storage = EmulatorStorage.file(path: folder.appending(path: "emulator.sqlite").path)
        try await withCloudKitEmulator(over: connection, storage: storage, configuration: configuration) { emulator in
            let upload = try await emulator.uploadTarget(for: "photo", named: "a")
            let source = WatchedSource(folder: folder, total: 96 << 20)
            let (response, _) = try await emulator.transport.send(
                .host(.post, upload),
                body: HTTPBody(source, length: .known(Int64(source.total)), iterationBehavior: .single),
                baseURL: emulator.serverURL,
                operationID: "test"
            )
            #expect(response.status == .ok)
            // The buffers of a socket hold up to 36 MiB if the receiver is slow (`tcp_rmem`, `tcp_wmem`).
            let most = connection == .inProcess ? 8 << 20 : 48 << 20
            #expect(source.mostAhead.withLock { $0 } <= most)
        }
    }

    @Test func anUploadThatBreaksOffLeavesNothing() async throws {
        struct Broken: Error {}
        try await withCloudKitEmulator { emulator in
            let upload = try await emulator.uploadTarget(for: "photo", named: "a")
            let (chunks, continuation) = AsyncThrowingStream<ArraySlice<UInt8>, any Error>.makeStream()
            continuation.yield([UInt8](repeating: 1, count: 600_000)[...])
            continuation.finish(throwing: Broken())
            await #expect(throws: Broken.self) {
                _ = try await emulator.transport.send(
                    .host(.post, upload),
                    body: HTTPBody(chunks, length: .known(1_000_000)),
                    baseURL: emulator.serverURL,
                    operationID: "test"
                )
            }
            // The upload address can still be used.
            let response = try await emulator.send(.host(.post, upload), body: picture)
            #expect(response.status == .ok)
        }
    }

    @Test(arguments: connections)
    func theFileOfAMultipartFormIsStored(_ connection: EmulatorConnection) async throws {
        let file = Array("\r\n--not the boundary\r\n\r\n".utf8) + picture + [13, 10]
        let photo = (head: #"Content-Disposition: form-data; name="file"; filename="a.bin""#, bytes: file)
        let note = (head: #"Content-Disposition: form-data; name="note""#, bytes: Array("a text".utf8))
        let bare = (head: #"Content-Disposition: form-data; name="file""#, bytes: file)
        let forms: [(parts: [(head: String, bytes: [UInt8])], stored: [UInt8]?)] = [
            ([photo], file), ([bare], file), ([note, photo], file), ([photo, note], file), ([note, note, photo], file),
            ([(photo.head, [])], []),
            ([note, bare], nil), ([photo, photo], nil), ([], nil),
        ]
        try await withCloudKitEmulator(over: connection) { emulator in
            for (index, form) in forms.enumerated() {
                let upload = try await emulator.uploadTarget(for: "photo", named: "a\(index)")
                var request = HTTPRequest.host(.post, upload)
                request.headerFields[.contentType] = "Multipart/Form-Data; boundary=\"a boundary\""
                let response = try await emulator.send(request, body: body(of: form.parts, "a boundary"))
                guard let stored = form.stored else {
                    #expect(response.status == .badRequest, "form \(index)")
                    #expect(response.body == [], "form \(index)")
                    // The address can still be used.
                    #expect(try await emulator.send(.host(.post, upload), body: picture).status == .ok)
                    continue
                }
                #expect(response.status == .ok, "form \(index)")
                let asset = try #require(try JSONReader.read(JSONValue.self, from: response.body)["singleFile"])
                #expect(asset["size"]?.int64Value == Int64(stored.count), "form \(index)")
                let target = try await emulator.save(asset, named: "a\(index)")
                #expect(try await emulator.send(.host(.get, target)).body == stored, "form \(index)")
            }
        }
    }

    @Test(arguments: connections)
    func aFormThatIsNotWholeIsRefused(_ connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let upload = try await emulator.uploadTarget(for: "photo", named: "a")
            let part = (head: #"Content-Disposition: form-data; name="file"; filename="a.bin""#, bytes: picture)
            let whole = body(of: [part], "b")
            for (type, bytes) in [
                ("multipart/form-data; boundary=b", Array(whole.dropLast(8))),
                ("multipart/form-data; boundary=c", whole), ("multipart/form-data", whole),
            ] {
                var request = HTTPRequest.host(.post, upload)
                request.headerFields[.contentType] = type
                let response = try await emulator.send(request, body: bytes)
                #expect(response.status == .badRequest, "\(type)")
                #expect(response.body == [])
            }
            #expect(try await emulator.send(.host(.post, upload), body: picture).status == .ok)
        }
    }

    /// The limit is the file's: the form around it may be longer.
    @Test func theLimitOfAFileInAFormIsThatOfAFile() async throws {
        var configuration = EmulatorConfiguration()
        configuration.limits.assetSize = 1000
        try await withCloudKitEmulator(configuration: configuration) { emulator in
            let upload = try await emulator.uploadTarget(for: "photo", named: "a")
            var request = HTTPRequest.host(.post, upload)
            request.headerFields[.contentType] = "multipart/form-data; boundary=b"
            for (size, status) in [(1001, HTTPResponse.Status.contentTooLarge), (1000, .ok)] {
                let bytes = [UInt8](repeating: 1, count: size)
                let part = (head: #"Content-Disposition: form-data; name="file"; filename="a.bin""#, bytes: bytes)
                #expect(try await emulator.send(request, body: body(of: [part], "b")).status == status)
            }
        }
    }

    /// A body in the form `multipart/form-data`.
    private func body(of parts: [(head: String, bytes: [UInt8])], _ boundary: String) -> [UInt8] {
        parts.reduce(into: []) { body, part in
            body += "--\(boundary)\r\n\(part.head)\r\n\r\n".utf8
            body += part.bytes
            body += "\r\n".utf8
        } + "--\(boundary)--\r\n".utf8
    }

    @Test(.enabled(if: canRun("curl", ["--version"]), "curl"))
    func curlUploadsAForm() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "curl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // Above 1 MB, curl waits for `100 Continue`.
        let file = folder.appending(path: "picture.bin")
        let bytes = picture + picture
        try Data(bytes).write(to: file)
        try await withCloudKitEmulator(over: .socket) { emulator in
            let upload = try await emulator.uploadTarget(for: "photo", named: "a")
            let (status, output) = try await run(
                "curl",
                [
                    "--silent", "--form", "note=a text", "--form", "files=@\(file.path)",
                    "\(emulator.serverURL)\(upload)",
                ]
            )
            #expect(status == 0)
            let asset = try #require(try JSONReader.read(JSONValue.self, from: output)["singleFile"])
            let target = try await emulator.save(asset, named: "a")
            #expect(try await emulator.send(.host(.get, target)).body == bytes)
        }
    }

    @Test func filesMayHaveAHostOfTheirOwn() async throws {
        let rules = try CloudKitEmulator()
        let container = "iCloud.com.example.files"
        let token = try rules.registerAPIToken(for: container)
        let user = try rules.createUser()
        let web = try rules.issueWebAuthToken(for: user)
        var configuration = CloudKitEmulatorServer.Configuration(
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        configuration.assetHostURL = "http://files.example.com:81"
        let server = try CloudKitEmulatorServer(rules, configuration: configuration)
        let path = "/database/1/\(container)/development/private/assets/upload"
        let (response, body) = try await server.send(
            HTTPRequest(
                method: .post,
                scheme: nil,
                authority: nil,
                path: "\(path)?ckAPIToken=\(token)&ckWebAuthToken=\(percentEncoded(web))"
            ),
            body: #"{"tokens":[{"recordType":"Note","fieldName":"photo"}]}"#,
            baseURL: URL(string: "http://cloudkit.test")!,
            operationID: ""
        )
        #expect(response.status == .ok)
        let bytes = try await [UInt8](collecting: try #require(body), upTo: 10_000)
        let json = try JSONReader.read(JSONValue.self, from: bytes)
        #expect(json["tokens"]?[0]?["url"]?.stringValue?.hasPrefix("http://files.example.com:81/asset-upload/") == true)
    }

    @Test(.enabled(if: canRun("curl", ["--version"]), "curl"))
    func curlUploadsAndDownloads() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "curl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await withCloudKitEmulator(over: .socket) { emulator in
            let file = folder.appending(path: "picture.bin")
            try Data(picture).write(to: file)
            let upload = try await emulator.uploadTarget(for: "photo", named: "a")
            let (status, output) = try await run(
                "curl",
                ["--silent", "--data-binary", "@\(file.path)", "\(emulator.serverURL)\(upload)"]
            )
            #expect(status == 0)
            let asset = try #require(try JSONReader.read(JSONValue.self, from: output)["singleFile"])
            let target = try await emulator.save(asset, named: "a")
            // The first half, and then the rest of the file.
            let copy = folder.appending(path: "copy.bin")
            try Data(picture[..<300_000]).write(to: copy)
            let resumed = try await run(
                "curl",
                [
                    "--silent", "--globoff", "--continue-at", "-", "--output", copy.path,
                    "\(emulator.serverURL)\(target)",
                ]
            )
            #expect(resumed.status == 0)
            #expect(try Data(contentsOf: copy) == Data(picture))
        }
    }
}

extension HTTPRequest {
    /// A request to the host of assets.
    fileprivate static func host(_ method: Method, _ target: String) -> HTTPRequest {
        HTTPRequest(method: method, scheme: nil, authority: nil, path: target)
    }
}

extension RunningEmulator {
    /// Requests an upload address, and returns the part after the host.
    fileprivate func uploadTarget(for field: String, named name: String) async throws -> String {
        let body = #"{"tokens":[{"recordName":"\#(name)","recordType":"Note","fieldName":"\#(field)"}]}"#
        let reply = try await post("assets/upload", in: .private, as: .user, body)
        return try target(reply.json["tokens"]?[0]?["url"])
    }

    /// Saves a record with an asset in its field `photo`. Returns the download address without the host.
    fileprivate func save(_ asset: JSONValue, named name: String) async throws -> String {
        let value = String(decoding: try JSONWriter.bytes(of: asset), as: UTF8.self)
        let reply = try await post(
            "records/modify",
            in: .private,
            as: .user,
            """
            {"operations":[{"operationType":"create","record":{"recordName":"\(name)","recordType":"Note",
            "fields":{"photo":{"value":\(value)}}}}]}
            """
        )
        return try target(reply.json["records"]?[0]?["fields"]?["photo"]?["value"]?["downloadURL"])
    }

    fileprivate func savedAsset(_ bytes: [UInt8], named name: String) async throws -> String {
        let upload = try await uploadTarget(for: "photo", named: name)
        let response = try await send(.host(.post, upload), body: bytes)
        let asset = try #require(try JSONReader.read(JSONValue.self, from: response.body)["singleFile"])
        return try await save(asset, named: name)
    }

    private func target(_ url: JSONValue?) throws -> String {
        let text = try #require(url?.stringValue)
        #expect(text.hasPrefix("\(serverURL)/"))
        return String(text.dropFirst("\(serverURL)".count)).replacing("${f}", with: "$%7Bf%7D")
    }
}

/// Bytes that record, whenever more are requested, how far they are ahead of the content of a folder.
final class WatchedSource: AsyncSequence, Sendable {
    let folder: URL
    let total: Int
    let mostAhead = Mutex(0)

    init(folder: URL, total: Int) {
        self.folder = folder
        self.total = total
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let source: WatchedSource
        var made = 0

        mutating func next() async throws -> ArraySlice<UInt8>? {
            let stored = try FileManager.default.contentsOfDirectory(atPath: source.folder.path).reduce(0) {
                sum,
                name in
                let path = source.folder.appending(path: name).path
                return sum + (try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0)
            }
            let ahead = made - stored
            source.mostAhead.withLock { $0 = Swift.max($0, ahead) }
            guard made < source.total else { return nil }
            let chunk = [UInt8](repeating: UInt8(truncatingIfNeeded: made >> 16), count: 64 * 1024)
            made += chunk.count
            return chunk[...]
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source: self) }
}
