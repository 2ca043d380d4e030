import CloudKitEmulatorServer
import Foundation
import MistKit
import MistTesting
import Testing

/// Iterating over records, against the emulator.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct RecordStreamTests {
    @Test(arguments: EmulatorConnection.allCases)
    func allRecordsComeOnceAndInOrder(connection: EmulatorConnection) async throws {
        try await withCloudKitEmulator(over: connection) { emulator in
            let database = try await filled(emulator, count: 450)
            var numbers: [Int64] = []
            for try await record in database.records(matching: query) {
                if case .int64(let number)? = record["number"] { numbers.append(number) }
            }
            #expect(numbers == Array(0..<450))
            #expect(emulator.faults.requests.count == 3)
            #expect(try await database.records(matching: query).collect(limit: 201).count == 201)
            #expect(emulator.faults.requests.count == 5)
        }
    }

    @Test func onePageIsFetchedAheadAndNoMore() async throws {
        try await withCloudKitEmulator { emulator in
            let database = try await filled(emulator, count: 50)
            var pages = database.records(matching: query, pageSize: 10).pages.makeAsyncIterator()
            #expect(emulator.faults.requests.isEmpty)
            for number in 1...5 {
                _ = try await pages.next()
                await eventually { emulator.faults.requests.count >= min(number + 1, 5) }
                for _ in 0..<100 { await Task.yield() }
                #expect(emulator.faults.requests.count == min(number + 1, 5))
            }
            #expect(try await pages.next() == nil)
        }
    }

    @Test func aMarkerGoesOnWhereItsPageEnded() async throws {
        try await withCloudKitEmulator { emulator in
            let database = try await filled(emulator, count: 50)
            var marker: String?
            var first: [String] = []
            for try await page in database.records(matching: query, pageSize: 20).pages {
                first = page.results.compactMap { try? $0.get().recordName }
                marker = page.marker
                break
            }
            let rest = try await database.records(matching: query, pageSize: 20, startingAt: marker).collect()
            #expect(first + rest.compactMap(\.recordName) == (0..<50).map { "r\($0)" })
        }
    }

    @Test func aPageThatFailsEndsTheRecordsAfterThoseBefore() async throws {
        try await withCloudKitEmulator { emulator in
            let database = try await filled(emulator, count: 50)
            emulator.faults.add(FaultRule(.refuse("ACCESS_DENIED"), on: "records/query", calls: .only(3)))
            var count = 0
            let error = try await failure {
                for try await _ in database.records(matching: query, pageSize: 10) { count += 1 }
            }
            #expect(error.code == .accessDenied)
            #expect(count == 20)
        }
    }

    private let query = Query(recordType: "Note", sorts: [Sort("number")])

    private func filled(_ emulator: RunningEmulator, count: Int) async throws -> CloudKitDatabase {
        let database = emulator.service(as: .user).privateDatabase
        let records = (0..<count).map { number in
            Record(recordType: "Note", recordName: "r\(number)", fields: ["number": .int64(Int64(number))])
        }
        for result in try await database.save(records) { _ = try result.get() }
        emulator.faults.forgetRequests()
        return database
    }
}
