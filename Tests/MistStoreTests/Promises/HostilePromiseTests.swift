import CloudKitModel
import Foundation
import GRDB
import MistKit
import MistTesting
import Testing

@testable import MistStore

/// Scenarios P2 to P13: what other programs, other copies of the file, wrong clocks and a struggling service do.
struct HostilePromiseTests {
    // MARK: Deleted records do not come back

    @Test(
        "3, P9. A create that the service refuses because the record exists was stored: a lookup without a result is a delete",
        arguments: [ServerErrorCode.exists, .conflict]
    )
    func existingRecordsThatAreGoneWereDeleted(_ code: ServerErrorCode) throws {
        let scenario = try SyncScenario()
        let (phone, laptop) = try scenario.twoDevices()
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        try phone.sync { request in
            guard request.operations?.first?.operationType == .create else { return .answered }
            // The request arrives twice. Between the reply to the second one and the lookup, the laptop deletes the record.
            _ = phone.answer(request)
            try laptop.sync()
            try laptop.run("DELETE FROM Book")
            try laptop.sync()
            return .reply(.success(.records([.failure(.service(code, record: "b"))])))
        }
        try scenario.synchronise()
        try scenario.expect([], recovery: ["phone: Book b deleted title=B"])
    }

    @Test("3, P9. In the public scope, too, a create that was refused because the record exists was stored")
    func existingPublicRecordsThatAreGoneWereDeleted() throws {
        let scenario = try SyncScenario()
        let phone = try scenario.device("phone", scope: .public)
        try phone.run("INSERT INTO Book (_recordName, title) VALUES ('b', 'B')")
        let trace = try phone.sync { request in
            guard request.operations?.first?.operationType == .create else { return .answered }
            return .reply(.success(.records([.failure(.service(.exists, record: "b"))])))
        }
        #expect(trace.lines == ["modify create b", "lookup b"])
        #expect(try phone.records() == [])
        #expect(try phone.recovery() == ["phone: Book b deleted title=B"])
        #expect(try phone.pending() == [])
    }
}
