import Foundation
import HTTPTypes
import MistTesting
import TestSupport
import Testing

@testable import MistKit

/// Downloads that go on after the end of a process.
struct ResumedDownloadTests {
    private let bytes: [UInt8] = (0..<3_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

    private func withFile(
        _ body: (_ database: CloudKitDatabase, _ field: AssetField, _ file: URL, _ host: AssetTransport) async throws ->
            Void
    ) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in
                let host = AssetTransport(emulator.transport)
                let database = emulator.service(as: .user) { $0.assetTransport = host }.privateDatabase
                let upload = try await database.upload(.bytes(bytes), for: "photo", of: "User")
                let record = try await database.create(upload.record())
                try await body(database, AssetField("photo", of: record), folder.appending(path: "file"), host)
            }
        }
    }

    /// What is beside the file.
    private func rest(of file: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path).sorted()
    }

    enum Change: CaseIterable {
        /// The host goes on with the rest.
        case none
        /// The host sends the whole file.
        case hostIgnoresRanges
        /// The last process died before its bytes were on the disk.
        case isShort
        case hasNoState
        case hasDamagedState
        /// The bytes are those of another file.
        case hasOtherValidator
        /// The last process died before the file got its name.
        case isWhole
    }

    @Test(arguments: Change.allCases)
    func aDownloadGoesOnInTheNextProcessOrBeginsAgain(_ change: Change) async throws {
        try await withFile { database, field, file, host in
            host.faults = [.cutAfter(2_500_000)]
            let error = await #expect(throws: CloudKitError.self) {
                try await database.resumeDownload(of: field, to: file)
            }
            #expect(error?.code == .network)
            #expect(try rest(of: file) == ["file.part", "file.state"])
            let (part, state) = (file.path + ".part", file.path + ".state")
            let text = try String(contentsOfFile: state, encoding: .utf8)
            let length = try #require(text.split(separator: "\n").first)
            switch change {
            case .none: break
            case .hostIgnoresRanges: host.ignoresRanges = true
            case .isShort: try Data(bytes.prefix(1000)).write(to: URL(filePath: part))
            case .hasNoState: try FileManager.default.removeItem(atPath: state)
            case .hasDamagedState: try Data("x".utf8).write(to: URL(filePath: state))
            case .hasOtherValidator:
                try Data(bytes.map { ~$0 }.prefix(2_500_000)).write(to: URL(filePath: part))
                try Data("\(length)\n\"other\"".utf8).write(to: URL(filePath: state))
            case .isWhole:
                try Data(bytes).write(to: URL(filePath: part))
                try Data(text.replacing(length, with: "\(bytes.count)").utf8).write(to: URL(filePath: state))
            }
            try await database.resumeDownload(of: field, to: file)
            #expect([UInt8](try Data(contentsOf: file)) == bytes)
            #expect(try rest(of: file) == ["file"])
            switch change {
            case .none, .hostIgnoresRanges, .hasOtherValidator: #expect(host.ranges == [nil, "bytes=\(length)-"])
            case .isShort, .hasNoState, .hasDamagedState, .isWhole: #expect(host.ranges == [nil, nil])
            }
            #expect(host.sent.last?.headerFields[.ifRange] != nil || host.ranges.last == .some(nil))
        }
    }

    @Test func anErrorThatIsNoBreakLeavesNothing() async throws {
        try await withFile { database, field, file, host in
            host.faults = [.cutAfter(2_500_000), .status(400)]
            for _ in 0..<2 {
                await #expect(throws: CloudKitError.self) { try await database.resumeDownload(of: field, to: file) }
            }
            let left = try rest(of: file)
            #expect(left.isEmpty)
        }
    }

    @Test func twoProcessesDoNotWriteTheSameFile() async throws {
        try await withFile { database, field, file, _ in
            let other = try PartialFile(for: file)
            let error = await #expect(throws: CloudKitError.self) {
                try await database.resumeDownload(of: field, to: file)
            }
            #expect(error?.code == .localData)
            other.close()
            try await database.resumeDownload(of: field, to: file)
            #expect([UInt8](try Data(contentsOf: file)) == bytes)
        }
    }
}
