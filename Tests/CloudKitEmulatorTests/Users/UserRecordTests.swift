import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Testing

/// The records of type `Users` in the public database.
struct UserRecordTests {
    private func lookUp(_ world: World, _ names: String..., as caller: Caller, in address: DatabaseAddress? = nil)
        throws
        -> [String]
    {
        try world.emulator.request(in: address ?? world.publicDatabase, as: caller).lookupRecords(
            names.map { RecordLookup(recordName: $0) }
        ).records.map { result in
            guard case .success(let record) = result else { return summary(result) }
            let creator = record.created?.userRecordName == record.recordName ? "own" : "another's"
            return "\(record.recordType ?? "?") \(creator) \(text(record.fields))"
        }
    }

    private func modify(_ world: World, _ operations: RecordOperation..., as caller: Caller) throws -> [String] {
        try world.emulator.request(in: world.publicDatabase, as: caller).modifyRecords(operations).records.map(summary)
    }

    private func operation(
        _ type: RecordOperation.OperationType,
        _ name: String,
        _ fields: Record.Fields = [:]
    ) -> RecordOperation {
        RecordOperation(type, record: Record(recordType: "Users", recordName: name, fields: fields))
    }

    @Test func everyUserOfTheContainerHasARecord() throws {
        let world = try World()
        let (ann, ben) = (Caller.user(world.ann), Caller.user(world.ben))
        // Ann has created a zone in the container; Ben has not used the container yet.
        let missing = "\(world.ben)! NOT_FOUND Record not found"
        #expect(try lookUp(world, world.ann, world.ben, as: ann) == ["Users own {}", missing])
        #expect(try lookUp(world, world.ann, world.ben, as: ben) == ["Users own {}", "Users own {}"])
        #expect(try lookUp(world, world.ann, world.ben, as: .anonymous) == ["Users own {}", "Users own {}"])
        // Each environment and each container has its own users, and private databases have no user records.
        let production = DatabaseAddress(World.container, .production, .public)
        #expect(try lookUp(world, world.ann, as: .anonymous, in: production).first?.contains("NOT_FOUND") == true)
        #expect(try lookUp(world, world.ann, as: ann, in: production) == ["Users own {}"])
        #expect(try lookUp(world, world.ann, as: ann, in: world.privateDatabase).first?.contains("NOT_FOUND") == true)
    }

    @Test func onlyTheUserChangesTheUserRecord() throws {
        let world = try World()
        let (ann, ben) = (Caller.user(world.ann), Caller.user(world.ben))
        let written = #"{"nick":{"value":"A","type":"STRING"}}"#
        #expect(
            try modify(world, operation(.forceUpdate, world.ann, ["nick": "A"]), as: ann) == [
                "\(world.ann)@2 \(written)"
            ]
        )
        #expect(
            try modify(world, operation(.forceUpdate, world.ann, ["nick": "B"]), as: ben)
                == ["\(world.ann)! ACCESS_DENIED WRITE operation not permitted"]
        )
        #expect(try lookUp(world, world.ann, as: ben) == ["Users own \(written)"])
    }

    @Test func clientsNeitherMakeNorDeleteThem() throws {
        let world = try World { $0.unsettled.creationOrDeletionOfUserRecord = .badRequest }
        let stranger = "_" + String(repeating: "0", count: 32)
        #expect(
            try modify(
                world,
                operation(.create, "a"),
                operation(.forceUpdate, stranger),
                operation(.create, world.ann),
                as: .user(world.ann)
            ) == [
                "a! BAD_REQUEST CREATE operation not permitted",
                "\(stranger)! BAD_REQUEST CREATE operation not permitted",
                "\(world.ann)! CONFLICT record to insert already exists",
            ]
        )
        #expect(
            try modify(world, operation(.forceDelete, world.ann), as: .user(world.ann))
                == ["\(world.ann)! BAD_REQUEST WRITE operation not permitted"]
        )
        // A private database may use the type name for its own records.
        #expect(try world.modify([operation(.create, "a")]) == ["a@1 {}"])
    }

    @Test(arguments: [false, true]) func theyAreQueriedWhereTheSwitchSaysSo(canBeQueried: Bool) throws {
        let world = try World { $0.unsettled.userRecordsCanBeQueried = canBeQueried }
        var found: [String?] = []
        let outcome = refusal {
            found = try world.asBen(in: .public).queryRecords(RecordQuery(recordType: "Users")).records.map {
                try $0.get().recordName
            }
        }
        #expect(outcome == (canBeQueried ? "accepted" : "BAD_REQUEST Can't query system types"))
        #expect(Set(found) == (canBeQueried ? [world.ann, world.ben] : []))
    }

    @Test func productionHasThemWithoutADeployment() throws {
        let world = try World()
        let production = DatabaseAddress(World.container, .production, .public)
        func rename() throws -> [String] {
            try world.emulator.request(in: production, as: .user(world.ann)).modifyRecords([
                operation(.forceUpdate, world.ann, ["nick": "A"])
            ]).records.map(summary)
        }
        #expect(
            try rename()
                == [
                    "\(world.ann)! BAD_REQUEST Cannot create or modify field 'nick' in record 'Users' in production schema"
                ]
        )
        _ = try modify(world, operation(.forceUpdate, world.ann, ["nick": "A"]), as: .user(world.ann))
        try world.emulator.deploySchema(of: World.container)
        #expect(try rename() == [#"\#(world.ann)@2 {"nick":{"value":"A","type":"STRING"}}"#])
    }
}
