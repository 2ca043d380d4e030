import Foundation
import Hummingbird
import Logging
import NIOCore
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime
import Synchronization

/// The service: it keeps each note once for each key.
final class NoteServer: APIProtocol {
    private let notes = Mutex<[String: Int]>([:])

    func addNote(_ input: Operations.AddNote.Input) async throws -> Operations.AddNote.Output {
        let note = try input.body.json
        let number = notes.withLock { notes in
            let number = notes[input.headers.idempotencyKey] ?? notes.count
            notes[input.headers.idempotencyKey] = number
            return number
        }
        return .ok(.init(body: .json(.init(id: number, text: note.text, tags: note.tags))))
    }

    func countNotes(_ input: Operations.CountNotes.Input) async throws -> Operations.CountNotes.Output {
        .ok(.init(body: .plainText(HTTPBody("\(notes.withLock { $0.count })"))))
    }

    /// Serves, and prints the port.
    static func serve() async throws {
        let router = Router(context: OperationRequestContext.self)
        try NoteServer().registerHandlers(on: HummingbirdTransport(router))
        var logger = Logger(label: "notes")
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
}

/// This program again, as the server.
struct ServerProcess {
    let port: Int
    private let process: Process

    init() throws {
        process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = ["serve"]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        var text = ""
        while let byte = output.fileHandleForReading.readData(ofLength: 1).first, byte != UInt8(ascii: "\n") {
            text.unicodeScalars.append(Unicode.Scalar(byte))
        }
        guard let port = Int(text) else { throw Failure("The server did not begin.") }
        self.port = port
    }

    func stop() { process.terminate() }
}
