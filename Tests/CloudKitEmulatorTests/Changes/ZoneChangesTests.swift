import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Testing

struct ZoneChangesTests {
    private func changes(
        _ world: World,
        since token: String? = nil,
        zoneID: ZoneID = World.notes,
        _ configure: (inout ZoneChangesRequest) -> Void = { _ in }
    ) throws -> ZoneChangesPage {
        var request = ZoneChangesRequest(zoneID: zoneID, syncToken: token)
        configure(&request)
        return try world.asAnn().fetchRecordChanges(request)
    }

    private func names(_ changes: ZoneChangesPage) -> [String] {
        changes.records.map { result in
            guard case .success(let record) = result else { return "?" }
            return (record.recordName ?? "?") + (record.isDeleted ? " deleted" : "")
        }
    }

    @Test func eachRecordIsThereOnceInItsLatestState() throws {
        let world = try World()
        try world.modify(.note(.create, "a"), .note(.create, "b"), .note(.create, "c"))
        let start = try changes(world)
        #expect(names(start) == ["a", "b", "c"])
        for _ in 0..<3 { try world.modify(.note(.forceUpdate, "a", ["n": 1])) }
        try world.modify(.note(.forceDelete, "b"))
        try world.modify(.note(.create, "d"))
        try world.modify(.note(.forceDelete, "d"))
        let next = try changes(world, since: start.syncToken)
        #expect(names(next) == ["a", "b deleted", "d deleted"])
        #expect(
            next.records.dropFirst().map(text) == [
                #"{"recordName":"b","recordChangeTag":"7","deleted":true,"recordType":null}"#,
                #"{"recordName":"d","recordChangeTag":"9","deleted":true,"recordType":null}"#,
            ]
        )
        #expect(try names(changes(world)) == ["c", "a", "b deleted", "d deleted"])
    }

    @Test func aTokenGivesTheSameAnswerHoweverOftenItIsUsed() throws {
        let world = try World()
        let start = try changes(world).syncToken
        try world.modify(.note(.create, "a"))
        let middle = try changes(world, since: start)
        #expect(try changes(world, since: start) == middle)
        let end = try changes(world, since: middle.syncToken)
        #expect(end.records == [] && !end.moreComing && end.syncToken == middle.syncToken)
        try world.modify(.note(.create, "b"))
        #expect(try names(changes(world, since: start)) == ["a", "b"])
        #expect(try names(changes(world, since: middle.syncToken)) == ["b"])
    }

    @Test func aHistoryComesInPagesOf200() throws {
        let world = try World()
        for start in stride(from: 0, to: 450, by: 150) {
            try world.modify((start..<start + 150).map { .note(.create, "r\($0)") })
        }
        var pages: [ZoneChangesPage] = []
        repeat {
            pages.append(try changes(world, since: pages.last?.syncToken) { $0.resultsLimit = 1000 })
        } while pages.last?.moreComing == true
        #expect(pages.map(\.records.count) == [200, 200, 50])
        #expect(pages.flatMap(names) == (0..<450).map { "r\($0)" })
        #expect(Set(pages.map(\.syncToken)).count == 3)
        // A record that changes between pages is listed again, and no record is lost.
        try world.modify(.note(.forceUpdate, "r10"), .note(.forceUpdate, "r300"))
        let rest = try changes(world, since: pages[0].syncToken)
        let last = try changes(world, since: rest.syncToken)
        #expect(names(rest) + names(last) == (200..<450).filter { $0 != 300 }.map { "r\($0)" } + ["r10", "r300"])
        #expect(try changes(world, since: nil) { $0.resultsLimit = 3 }.records.count == 3)
        #expect(
            refusal { try changes(world) { $0.resultsLimit = 0 } } == "BAD_REQUEST resultsLimit must be positive"
        )
    }

    @Test func theNewestCanComeFirst() throws {
        let world = try World()
        try world.modify((0..<5).map { .note(.create, "r\($0)") })
        var pages: [ZoneChangesPage] = []
        repeat {
            pages.append(
                try changes(world, since: pages.last?.syncToken) {
                    $0.reverse = true
                    $0.resultsLimit = 2
                }
            )
        } while pages.last?.moreComing == true && pages.count < 9
        #expect(pages.map(names) == [["r4", "r3"], ["r2", "r1"], ["r0"]])
        // After the last page, the token continues with newer changes.
        try world.modify(.note(.create, "new"))
        #expect(try names(changes(world, since: pages.last?.syncToken)) == ["new"])
    }

    @Test func typesAndFieldsCanBeChosen() throws {
        let world = try World()
        try world.modify(
            .note(.create, "a", ["x": 1, "y": 2]),
            RecordOperation(.create, record: Record(recordType: "Other", recordName: "b")),
            RecordOperation(.create, record: Record(recordType: "Other", recordName: "c"))
        )
        try world.modify(.note(.forceDelete, "c"))
        let page = try changes(world) {
            $0.desiredRecordTypes = ["Note", "Unknown"]
            $0.desiredKeys = ["y"]
        }
        #expect(page.records.map(summary) == [#"a@1 {"y":{"value":2,"type":"INT64"}}"#, "c deleted"])
        #expect(try names(changes(world) { $0.desiredRecordTypes = [] }) == ["c deleted"])
    }

    @Test func whatIsNoTokenOfTheZoneIsRefused() throws {
        let world = try World()
        let other = ZoneID(zoneName: "Other")
        _ = try world.asAnn().modifyZones([ZoneOperation(.create, zone: Zone(zoneID: other))])
        try world.modify(.note(.create, "a"))
        let token = try changes(world).syncToken
        let unknown = "BAD_REQUEST Unknown sync continuation type"
        for garbage in ["not-a-token", "AAAA", "c29tZXRoaW5n", "%"] {
            #expect(refusal { try changes(world, since: garbage) } == unknown)
        }
        for length in [4, 9, token.count / 2, token.count - 4] {
            #expect(
                refusal { try changes(world, since: String(token.prefix(length))) }
                    == "BAD_REQUEST Invalid continuation format"
            )
        }
        let databaseToken = try world.asAnn().fetchDatabaseChanges(since: nil).syncToken
        #expect(refusal { try changes(world, since: databaseToken) } == unknown)
        #expect(refusal { try changes(world, since: token, zoneID: other) } == unknown)
        let stranger = try World()
        try stranger.modify(.note(.create, "a"))
    }

    @Test func aTokenFromBeforeTheZoneWasCreatedAgainHasExpired() throws {
        let world = try World()
        try world.modify(.note(.create, "a"))
        let token = try changes(world).syncToken
        for type in [ZoneOperation.OperationType.delete, .create] {
            _ = try world.asAnn().modifyZones([ZoneOperation(type, zone: Zone(zoneID: World.notes))])
        }
        #expect(
            refusal { try changes(world, since: token) }
                == "CHANGE_TOKEN_EXPIRED client knowledge differs from server knowledge"
        )
        #expect(try changes(world).records == [])
    }

    @Test func theConfigurationSaysWhetherAnEmptyTokenIsAccepted() throws {
        for (meaning, expected) in [
            (EmulatorConfiguration.Unsettled.EmptySyncToken.caughtUp, []), (.fromTheStart, ["a"]),
        ] {
            let world = try World { $0.unsettled.emptySyncToken = meaning }
            try world.modify(.note(.create, "a"))
            #expect(try names(changes(world, since: "")) == expected)
        }
    }

    @Test func eachZoneOfARequestHasItsOwnAnswer() throws {
        let world = try World()
        try world.modify(.note(.create, "a"))
        let results = try world.asAnn().fetchZoneChanges(
            [World.notes, ZoneID(zoneName: "missing"), .default, World.notes].map { ZoneChangesRequest(zoneID: $0) }
        ).map { result in
            switch result {
            case .success(let changes): names(changes).joined(separator: " ")
            case .failure(let error): "\(error.id?.zoneName ?? "?")! \(error.serverErrorCode) \(error.reason ?? "")"
            }
        }
        #expect(
            results == [
                "a", "missing! ZONE_NOT_FOUND Zone 'missing' does not exist",
                "_defaultZone! BAD_REQUEST cannot get changes in default zone", "a",
            ]
        )
        #expect(
            refusal { try changes(world, zoneID: .default) } == "BAD_REQUEST cannot get changes in default zone"
        )
        #expect(
            refusal { try world.asAnn(in: .public).fetchZoneChanges([]) }
                == "BAD_REQUEST endpoint not applicable in the database type 'publicdb'"
        )
    }
}
