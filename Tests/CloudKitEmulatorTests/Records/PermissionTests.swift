import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Testing

/// The default grants of a public database: READ to `_world`, CREATE to `_icloud`, WRITE to `_creator`.
struct PermissionTests {
    private func modify(_ world: World, _ operation: RecordOperation, as caller: Caller) throws -> [String] {
        try world.emulator.request(in: world.publicDatabase, as: caller).modifyRecords([operation]).records.map(summary)
    }

    @Test func credentialsAreJudgedBeforeArguments() throws {
        let world = try World()
        let operations = (0...200).map { RecordOperation.note(.create, "n\($0)") }
        let lookups = (0...200).map { RecordLookup(recordName: "n\($0)") }
        let refusals = [
            refusal { try world.emulator.request(in: world.privateDatabase, as: .anonymous).modifyRecords(operations) },
            refusal { try world.emulator.request(in: world.privateDatabase, as: .anonymous).lookupRecords(lookups) },
        ]
        #expect(refusals.allSatisfy { $0.hasPrefix("AUTHENTICATION_REQUIRED") }, "\(refusals)")
    }

    /// A test of another client, written to run against the service, expects this.
    @Test func anAnonymousWriteFailsAsAWhole() throws {
        let world = try World()
        let refused = "AUTHENTICATION_REQUIRED request needs authorization"
        for type in [RecordOperation.OperationType.create, .update, .forceUpdate, .delete, .forceDelete] {
            #expect(refusal { try modify(world, .note(type, "x"), as: .anonymous) } == refused)
        }
        let context = try world.emulator.request(in: world.publicDatabase, as: .anonymous)
        #expect(
            refusal {
                try context.requestAssetUploads([AssetUploadRequest(recordType: "Note", fieldName: "photo")])
            } == refused
        )
        #expect(
            refusal { try context.rereferenceAssets([AssetFieldID(recordName: "x", fieldName: "photo")]) } == refused
        )
    }

    @Test func everybodyReadsAndOnlyTheCreatorWrites() throws {
        let world = try World { $0.unsettled.anonymousWrite = .refusesRecord }
        let (ann, ben) = (Caller.user(world.ann), Caller.user(world.ben))
        let key = Caller.serverKey(keyID: "k")
        #expect(
            try modify(world, .note(.create, "x"), as: .anonymous)
                == ["x! ACCESS_DENIED CREATE operation not permitted"]
        )
        #expect(try modify(world, .note(.create, "x"), as: ann) == ["x@1 {}"])
        for stranger in [ben, key, .anonymous] {
            for type in [RecordOperation.OperationType.forceUpdate, .forceDelete] {
                #expect(
                    try modify(world, .note(type, "x"), as: stranger)
                        == ["x! ACCESS_DENIED WRITE operation not permitted"]
                )
            }
        }
        for reader in [ann, ben, key, .anonymous] {
            #expect(
                try world.emulator.request(in: world.publicDatabase, as: reader).lookupRecords([
                    RecordLookup(recordName: "x")
                ]).records.map(summary) == ["x@1 {}"]
            )
        }
        #expect(try modify(world, .note(.update, "x", tag: "1", ["a": 1]), as: ann)[0].hasPrefix("x@2"))
    }

    @Test func aServerKeyHasAUserRecordNameOfItsOwn() throws {
        let world = try World()
        let names = try ["k", "k", "l"].enumerated().map { index, keyID in
            try world.emulator.request(in: world.publicDatabase, as: .serverKey(keyID: keyID)).modifyRecords([
                .note(.create, "r\(index)")
            ]).records[0].get().created?.userRecordName ?? ""
        }
        #expect(names.allSatisfy { $0.wholeMatch(of: /_[0-9a-f]{32}/) != nil })
        #expect(names[0] == names[1] && names[0] != names[2])
        #expect(!names.contains(world.ann))
    }

    @Test func privateDatabasesNeedAUser() throws {
        let world = try World()
        for address in [world.privateDatabase, world.sharedDatabase] {
            #expect(
                refusal { try world.emulator.request(in: address, as: .anonymous).zones() }
                    == "AUTHENTICATION_REQUIRED request needs authorization"
            )
            #expect(
                refusal { try world.emulator.request(in: address, as: .serverKey(keyID: "k")).zones() }
                    == "AUTHENTICATION_FAILED Authentication failed"
            )
        }
        let other = try World { $0.unsettled.serverKeyOnPrivateDatabase = .accessDenied }
        #expect(
            refusal { try other.emulator.request(in: other.privateDatabase, as: .serverKey(keyID: "k")).zones() }
                == "ACCESS_DENIED Authentication failed"
        )
    }

    @Test func nobodySeesTheRecordsOfAnother() throws {
        let world = try World()
        try world.modify([.note(.create, "x")], zoneID: nil)
        for (caller, expected) in [(world.ann, "x@1 {}"), (world.ben, "x! NOT_FOUND Record not found")] {
            #expect(
                try world.emulator.request(in: world.privateDatabase, as: .user(caller)).lookupRecords([
                    RecordLookup(recordName: "x")
                ]).records.map(summary) == [expected]
            )
        }
    }
}
