import Foundation
import HTTPTypes
@_spi(Generated) import OpenAPISwiftRuntime
import Testing

/// Our reader with bodies of other libraries, and other libraries with bodies of ours.
struct MultipartInteroperabilityTests {

    /// Python's own `email` package implements the same RFCs.
    @Test(.enabled(if: Python.runs("import email, json"), "python3 is not installed"))
    func pythonReadsWhatWeWrite() async throws {
        let binary = (0...255).map { UInt8($0) } + Array("\r\n--\r\n-- b\r\n".utf8)
        let message = try SentMessage([
            MultipartRawPart(name: "plain", headerFields: [.contentType: "text/plain"], body: "Hello"),
            MultipartRawPart(
                name: #"a "quoted" \ name; x=y"#,
                filename: #"C:\a "b".bin"#,
                headerFields: [.contentType: "application/octet-stream"],
                body: HTTPBody(binary)
            ),
            MultipartRawPart(name: "empty", filename: "", headerFields: [:], body: HTTPBody()),
        ])
        let script = """
            import base64, email, json, sys
            message = email.message_from_bytes(sys.stdin.buffer.read())
            assert not message.defects, message.defects
            print(json.dumps([{
                "name": part.get_param("name", header="content-disposition"),
                "filename": part.get_filename(),
                "type": part["content-type"],
                "bytes": base64.b64encode(part.get_payload(decode=True)).decode(),
            } for part in message.get_payload()]))
            """
        struct Part: Codable, Equatable {
            var name: String?
            var filename: String?
            var type: String?
            var bytes: Data
        }
        let contentType = try #require(message.headerFields[.contentType])
        let input =
            Data("Content-Type: \(contentType)\r\n\r\n".utf8)
            + (try await Data(collecting: try #require(message.body), upTo: .max))
        let read = try JSONDecoder().decode([Part].self, from: Python.run(script, input: input))
        #expect(
            read == [
                Part(name: "plain", type: "text/plain", bytes: Data("Hello".utf8)),
                Part(
                    name: #"a "quoted" \ name; x=y"#,
                    filename: #"C:\a "b".bin"#,
                    type: "application/octet-stream",
                    bytes: Data(binary)
                ),
                Part(name: "empty", filename: "", bytes: Data()),
            ]
        )
    }

    @Test(.enabled(if: Python.runs("import urllib3"), "urllib3 of python3 is not installed"))
    func weReadWhatUrllib3Writes() async throws {
        let script = """
            import sys
            from urllib3.filepost import encode_multipart_formdata
            body, content_type = encode_multipart_formdata([
                ("title", "Hello"),
                ("umlaut ä", "é🐈"),
                ("file", ("n ä.bin", bytes(range(256)), "image/png")),
            ])
            sys.stdout.buffer.write(content_type.encode() + b"\\n" + body)
            """
        let parts = try await Self.read(Python.run(script))
        #expect(parts.map(\.name) == ["title", "umlaut ä", "file"])
        #expect(parts.map(\.filename) == [nil, nil, "n ä.bin"])
        #expect(parts.map(\.bytes) == [Array("Hello".utf8), Array("é🐈".utf8), (0...255).map { UInt8($0) }])
        #expect(parts.last?.headerFields[.contentType] == "image/png")
    }

    @Test(.enabled(if: Python.runs("import requests"), "requests of python3 is not installed"))
    func weReadWhatRequestsWrites() async throws {
        let script = """
            import requests, sys
            request = requests.Request("POST", "http://localhost/", data={"a": ["1", "2"]}, files={"f": ("x.txt", b"\\r\\n--")})
            prepared = request.prepare()
            sys.stdout.buffer.write(prepared.headers["Content-Type"].encode() + b"\\n" + prepared.body)
            """
        let parts = try await Self.read(Python.run(script))
        #expect(parts.map(\.name) == ["a", "a", "f"])
        #expect(parts.map(\.filename) == [nil, nil, "x.txt"])
        #expect(parts.map { String(decoding: $0.bytes, as: UTF8.self) } == ["1", "2", "\r\n--"])
    }

    /// curl needs a server. A Python script serves its single request.
    @Test(
        .enabled(if: Python.runs("import shutil; assert shutil.which('curl')"), "python3 or curl is not installed"),
        arguments: [false, true]
    )
    func weReadWhatCurlWrites(escapesWithBackslashes: Bool) async throws {
        let script = """
            import http.server, subprocess, sys
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_POST(self):
                    body = self.rfile.read(int(self.headers["Content-Length"]))
                    sys.stdout.buffer.write(self.headers["Content-Type"].encode() + b"\\n" + body)
                    self.send_response(204)
                    self.end_headers()
                def log_message(self, *arguments): pass
            server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
            server.timeout = 20
            curl = subprocess.Popen(["curl", "-s", "--noproxy", "*", "-H", "Expect:"] + \(escapesWithBackslashes ? "['--form-escape']" : "[]") + [
                "-F", "title=Hello", "-F", 'quo"te=x', "-F", "file=@-;filename=a b.png;type=image/png",
                "http://127.0.0.1:%d/" % server.server_port], stdin=subprocess.PIPE)
            curl.stdin.write(bytes(range(256)) * 4)
            curl.stdin.close()
            server.handle_request()
            curl.wait()
            """
        let parts = try await Self.read(Python.run(script))
        // Without the option, curl writes the quotation mark as browsers do. The result is the same as for the name
        // `quo%22te`.
        #expect(parts.map(\.name) == ["title", escapesWithBackslashes ? #"quo"te"# : "quo%22te", "file"])
        #expect(parts.map(\.filename) == [nil, nil, "a b.png"])
        #expect(parts.map(\.headerFields[.contentType]) == [nil, nil, "image/png"])
        let binary = (0..<1024).map { UInt8($0 & 0xFF) }
        #expect(parts.map(\.bytes) == [Array("Hello".utf8), Array("x".utf8), binary])
    }

    /// Reads output that is a line with the content type and then a body, in small chunks.
    private static func read(_ output: Data) async throws -> [ReadPart] {
        let bytes = Array(output)
        let end = try #require(bytes.firstIndex(of: UInt8(ascii: "\n")))
        let body = HTTPBody(Arriving(bytes[(end + 1)...], size: 7), length: .unknown, iterationBehavior: .single)
        return try await ReceivedMessage(
            contentType: String(decoding: bytes[..<end], as: UTF8.self),
            body: body
        ).readParts()
    }
}

/// Runs Python scripts, which are the other side of the tests.
private enum Python {

    struct Failure: Error {
        var status: Int32
        var message: String
    }

    static func runs(_ script: String) -> Bool {
        (try? run(script)) != nil
    }

    static func run(_ script: String, input: Data = Data()) throws -> Data {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["input", "output", "error"].map { folder.appending(path: $0) }
        try input.write(to: files[0])
        for file in files[1...] { try Data().write(to: file) }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-W", "ignore", "-c", script]
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            let message = String(decoding: try Data(contentsOf: files[2]), as: UTF8.self)
            throw Failure(status: process.terminationStatus, message: message)
        }
        return try Data(contentsOf: files[1])
    }
}
