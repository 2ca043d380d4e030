import CloudKitModel
import Foundation
import MistKit
import MistTesting
import Testing

@testable import MistStore

/// The requests of the engine, sent by the client.
struct CloudKitServiceSyncTests {
    @Test func aPageOfChangesKeepsTheOrderOfTheService() async throws {
        try await withCloudKitEmulator { emulator in
            let service = emulator.service(as: .user)
            let zone = try await service.privateDatabase.createZone("Notes").zoneID
            for name in ["a", "b"] {
                _ = try await service.privateDatabase.modify(
                    [.create(Record(recordType: "Note", recordName: name))],
                    inZone: zone
                ).map { try $0.get() }
            }
            _ = try await service.privateDatabase.modify(
                [
                    .forceDelete("a"),
                    .create(Record(recordType: "Note", recordName: "c")),
                ],
                inZone: zone
            ).map { try $0.get() }

            let reply = try await service.send(.zoneChanges([.init(zoneID: zone, token: nil)]), to: .private)
            guard case .zoneChanges(let pages) = reply else {
                Issue.record("The reply is \(reply)")
                return
            }
            let page = try pages[0].get()
            let names = try page.results.map { try $0.get() }.map {
                ($0.recordName ?? "") + ($0.isDeleted ? " deleted" : "")
            }
            #expect(names == ["b", "a deleted", "c"])
            #expect(!page.moreComing)
        }
    }
}
