import CloudKitEmulator
import CloudKitEmulatorServer
import CloudKitModel
import CloudKitWebServices
import Foundation
import HTTPTypes
import Logging
import OpenAPISwiftAsyncHTTPClient
import OpenAPISwiftRuntime
import StreamingJSON
import Synchronization
import Testing

/// Which data of an emulator survive when its process is killed.
struct DurabilityTests {
    static let container = "iCloud.test.mistkit"
    static let database = DatabaseAddress(container, .development, .private)

    @Test(.timeLimit(.minutes(10)))
    func killingTheServerLosesNoWriteThatWasAnswered() async throws {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = folder + "/emulator.sqlite"
        let first = try CloudKitEmulator(storage: .file(path: file))
        let apiToken = try first.registerAPIToken(for: Self.container)
        let user = try first.createUser()
        let webAuthToken = try first.issueWebAuthToken(for: user)
        try first.close()

        var answered: [String: Int] = [:]
        for round in 1...3 {
            let address = folder + "/address-\(round)"
            #expect(mkfifo(address, 0o600) == 0)
            async let end: Void = serveUntilKilled(file: file, address: address)
            let (process, serverURL) = try await announcement(in: address)
            let writer = Writer(
                serverURL: serverURL,
                query: "ckAPIToken=\(apiToken)&ckWebAuthToken=\(percentEncoded(webAuthToken))"
            )
            let answers = await writer.write(round: round, killing: process, after: 100)
            _ = await end
            #expect(answers.count >= 50)
            answered.merge(answers) { $1 }

            // Each confirmed write is there, with its last confirmed value or with the value of a later request.
            let reopened = try CloudKitEmulator(storage: .file(path: file))
            for names in answered.keys.sorted().chunks(of: 200) {
                let page = try reopened.request(in: Self.database, as: .user(user)).lookupRecords(
                    .init(records: names.map { .init(recordName: $0) })
                )
                for (name, result) in zip(names, page.records ?? []) {
                    guard case .result(.success(let record)) = result else {
                        Issue.record("\(name) was answered and is lost")
                        continue
                    }
                    #expect(record["count"]?.int64Value ?? -1 >= Int64(answered[name] ?? 0), "\(name)")
                }
            }
            try reopened.close()
        }
    }

    private func temporaryFolder() throws -> String {
        let folder = FileManager.default.temporaryDirectory.path + "/mistkit-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        return folder
    }

    /// Runs a server in another process until it is killed. The server writes its process ID and address to a pipe.
    private func serveUntilKilled(file: String, address pipe: String) async {
        await #expect(processExitsWith: .signal(SIGKILL)) { [file, pipe] in
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            let emulator = try CloudKitEmulator(storage: .file(path: file))
            try await CloudKitEmulatorServer(emulator, configuration: .init(logger: logger)).run(port: 0) { address in
                FileHandle(forWritingAtPath: pipe)?.write(Data("\(getpid()) \(address)".utf8))
            }
        }
    }

    /// Waits for the server's process ID and address.
    private func announcement(in pipe: String) async throws -> (process: Int32, serverURL: URL) {
        let text = await withCheckedContinuation { continuation in
            // Opening a pipe blocks until another process opens it for writing.
            Thread.detachNewThread {
                let bytes = try? FileHandle(forReadingAtPath: pipe)?.readToEnd()
                continuation.resume(returning: String(decoding: bytes ?? Data(), as: UTF8.self))
            }
        }
        let words = text.split(separator: " ")
        let process = try #require(words.first.flatMap { Int32($0) })
        return (process, try #require(words.last.flatMap { URL(string: String($0)) }))
    }
}

/// Writes records one by one over four connections.
private struct Writer {
    let serverURL: URL
    let query: String

    /// Counts up a record for each connection, creates other records, and kills the server in the middle of the writes.
    ///
    /// - Returns: The last confirmed count of each record.
    func write(round: Int, killing process: Int32, after limit: Int) async -> [String: Int] {
        let answers = Answers()
        await withTaskGroup { group in
            for lane in 0..<4 {
                group.addTask {
                    var count = 0
                    while true {
                        count += 1
                        let name = count % 2 == 0 ? "counter-\(lane)" : "record-\(round)-\(lane)-\(count)"
                        let value = round * 1_000_000 + count
                        guard await write(name, value) else { return }
                        if answers.note(value, of: name) == limit { kill(process, SIGKILL) }
                    }
                }
            }
        }
        // If fewer than `limit` writes got a response, the server is still running.
        kill(process, SIGKILL)
        return answers.values
    }

    /// Whether the server confirmed the write.
    private func write(_ name: String, _ count: Int) async -> Bool {
        let path = "/database/1/\(DurabilityTests.container)/development/private/records/modify?\(query)"
        let body = """
            {"operations":[{"operationType":"forceReplace","record":{"recordName":"\(name)","recordType":"Count",
             "fields":{"count":{"value":\(count)}}}}]}
            """
        do {
            let (response, responseBody) = try await AsyncHTTPClientTransport().send(
                HTTPRequest(method: .post, scheme: nil, authority: nil, path: path),
                body: HTTPBody(body),
                baseURL: serverURL,
                operationID: "modifyRecords"
            )
            guard response.status == .ok, let responseBody else { return false }
            let json = try await JSONReader.read(JSONValue.self, from: [UInt8](collecting: responseBody, upTo: .max))
            return json["records"]?[0]?["recordName"] == .string(name)
        } catch {
            return false
        }
    }
}

/// The last confirmed count of each record.
private final class Answers: Sendable {
    private let state = Mutex<(values: [String: Int], count: Int)>(([:], 0))

    var values: [String: Int] { state.withLock { $0.values } }

    /// Records a confirmation, and returns the number of confirmations so far.
    func note(_ value: Int, of name: String) -> Int {
        state.withLock { state in
            state.values[name] = value
            state.count += 1
            return state.count
        }
    }
}

extension Array {
    fileprivate func chunks(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
