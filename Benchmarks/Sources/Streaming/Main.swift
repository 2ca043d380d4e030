import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime

/// Streams a gigabyte each way between two processes, and prints the peak resident memory of each process.
///
/// ```
/// swift run -c release Streaming
/// // up         1024 MiB in 1.6 s
/// // ...
/// // peak memory: client 24 MiB, server 27 MiB
/// ```
///
/// The process starts itself again as the server. The program fails if a body did not arrive completely, or if a
/// process needed more than 100 MB.
@main
struct Main {

    static let limit = 100_000_000

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "serve" { return try await serve() }
        let size = (arguments.first.flatMap { Int($0) } ?? 1024) << 20

        let server = Process()
        server.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        server.arguments = ["serve"]
        let output = Pipe()
        server.standardOutput = output
        try server.run()
        defer { server.terminate() }
        let port = try required(Int(line(of: output.fileHandleForReading)))

        let client = Client(
            serverURL: try URL(validatingOpenAPIServerURL: "http://127.0.0.1:\(port)"),
            transport: AsyncHTTPClientTransport(configuration: .init(timeout: .minutes(10)))
        )
        try await measure("up", size) {
            try await number(
                client.countBytes(body: .binary(bytes(size, length: .known(Int64(size))))).ok.body.plainText
            )
        }
        try await measure("up, in chunks", size) {
            try await number(client.countBytes(body: .binary(bytes(size, length: .unknown))).ok.body.plainText)
        }
        try await measure("up, multipart", size) {
            let file = MultipartPart(
                payload: Operations.CountParts.Input.Body.MultipartFormPayload.FilePayload(
                    body: bytes(size, length: .unknown)
                )
            )
            return try await number(client.countParts(body: .multipartForm([.file(file)])).ok.body.plainText)
        }
        try await measure("down", size) {
            try await count(client.getBytes(query: .init(count: size)).ok.body.binary)
        }
        let ours = peakMemory()
        let theirs = try await number(client.getPeakMemory().ok.body.plainText)
        print("peak memory: client \(ours >> 20) MiB, server \(theirs >> 20) MiB")
        guard max(ours, theirs) < limit else { throw Failure("A process needed more than \(limit) bytes.") }
    }

    private static func measure(_ name: String, _ size: Int, _ operation: () async throws -> Int) async throws {
        let clock = ContinuousClock()
        let start = clock.now
        let arrived = try await operation()
        guard arrived == size else { throw Failure("\(name): \(arrived) of \(size) bytes arrived.") }
        let time = clock.now - start
        let padded = name.padding(toLength: 14, withPad: " ", startingAt: 0)
        print(
            "\(padded) \(size >> 20) MiB in \(time.formatted(.units(allowed: [.seconds], fractionalPart: .show(length: 1))))"
        )
    }

    // MARK: The server

    private static func serve() async throws {
        let router = Router(context: OperationRequestContext.self)
        try Server().registerHandlers(on: HummingbirdTransport(router))
        var logger = Logger(label: "streaming")
        logger.logLevel = .error
        let application = Application(
            router: router,
            configuration: .init(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                FileHandle.standardOutput.write(Data("\(channel.localAddress?.port ?? 0)\n".utf8))
            },
            logger: logger
        )
        try await application.runService()
    }

    private struct Server: APIProtocol {

        func getBytes(_ input: Operations.GetBytes.Input) async throws -> Operations.GetBytes.Output {
            .ok(.init(body: .binary(bytes(input.query.count, length: .known(Int64(input.query.count))))))
        }

        func countBytes(_ input: Operations.CountBytes.Input) async throws -> Operations.CountBytes.Output {
            .ok(.init(body: .plainText(HTTPBody("\(try await count(input.body.binary))"))))
        }

        func countParts(_ input: Operations.CountParts.Input) async throws -> Operations.CountParts.Output {
            var sum = 0
            for try await part in try input.body.multipartForm {
                switch part {
                case .file(let file): sum += try await count(file.payload.body)
                case .undocumented(let part): _ = try await count(part.body)
                }
            }
            return .ok(.init(body: .plainText(HTTPBody("\(sum)"))))
        }

        func getPeakMemory(_ input: Operations.GetPeakMemory.Input) async throws -> Operations.GetPeakMemory.Output {
            .ok(.init(body: .plainText(HTTPBody("\(peakMemory())"))))
        }
    }

    // MARK: Bytes

    /// A body of pseudo-random bytes that are made as they are read.
    private static func bytes(_ count: Int, length: HTTPBody.Length) -> HTTPBody {
        HTTPBody(MadeBytes(count: count), length: length, iterationBehavior: .single)
    }

    private static func count(_ body: HTTPBody) async throws -> Int {
        var count = 0
        for try await chunk in body { count += chunk.count }
        return count
    }

    private static func number(_ body: HTTPBody) async throws -> Int {
        try required(Int(try await String(collecting: body, upTo: 100)))
    }

    // MARK: The process

    private static func line(of handle: FileHandle) -> String {
        var text = ""
        while let byte = handle.readData(ofLength: 1).first, byte != UInt8(ascii: "\n") {
            text.unicodeScalars.append(Unicode.Scalar(byte))
        }
        return text
    }

    /// The most memory that this process had resident, in bytes.
    private static func peakMemory() -> Int {
        var usage = rusage()
        #if os(Linux)
            // In kilobytes there, in bytes elsewhere.
            getrusage(numericCast(RUSAGE_SELF.rawValue), &usage)
            return usage.ru_maxrss * 1024
        #else
            getrusage(RUSAGE_SELF, &usage)
            return usage.ru_maxrss
        #endif
    }

    private static func required<T>(_ value: T?) throws -> T {
        guard let value else { throw Failure("The other process said something else than a number.") }
        return value
    }
}

private struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Chunks of 64 kB up to a number of bytes.
private struct MadeBytes: AsyncSequence, Sendable {

    let count: Int

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: Int
        let block: [UInt8] = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

        mutating func next() async -> HTTPBody.ByteChunk? {
            guard rest > 0 else { return nil }
            let size = Swift.min(rest, block.count)
            rest -= size
            return block[..<size]
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: count) }
}
