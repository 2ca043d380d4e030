import CloudKitEmulator
import CloudKitEmulatorAdministration
import HTTPTypes
import OpenAPISwiftRuntime

/// The operations of the document about snapshots.
extension AdministrationHandlers {
    func listSnapshots(
        _ input: Operations.ListSnapshots.Input,
        context: AdministrationHost
    ) throws -> Operations.ListSnapshots.Output {
        .ok(.init(body: .json(.init(snapshots: try context.server.snapshots.list().map { .init($0) }))))
    }

    func takeSnapshot(
        _ input: Operations.TakeSnapshot.Input,
        context: AdministrationHost
    ) throws -> Operations.TakeSnapshot.Output {
        let name = try Self.checked(snapshot: input.body.json.name)
        let snapshot = try context.server.snapshots.take(name)
        context.server.events.send { .snapshots }
        return .ok(.init(body: .json(.init(snapshot))))
    }

    func exportSnapshot(
        _ input: Operations.ExportSnapshot.Input,
        context: AdministrationHost
    ) throws -> Operations.ExportSnapshot.Output {
        let bytes = try context.server.snapshots.export(Self.checked(snapshot: input.path.snapshot))
        return .ok(.init(body: .applicationVnd_sqlite3(HTTPBody(bytes))))
    }

    func importSnapshot(
        _ input: Operations.ImportSnapshot.Input,
        context: AdministrationHost
    ) async throws -> Operations.ImportSnapshot.Output {
        let name = try Self.checked(snapshot: input.path.snapshot)
        // The server has limited the body already.
        let bytes = try await [UInt8](collecting: input.body.applicationVnd_sqlite3, upTo: .max)
        do {
            let snapshot = try context.server.snapshots.add(name, bytes)
            context.server.events.send { .snapshots }
            return .ok(.init(body: .json(.init(snapshot))))
        } catch let error as SnapshotFileError {
            throw AdministrationFailure(.badRequest, .invalidRequest, error.message)
        }
    }

    func deleteSnapshot(
        _ input: Operations.DeleteSnapshot.Input,
        context: AdministrationHost
    ) throws -> Operations.DeleteSnapshot.Output {
        try context.server.snapshots.delete(Self.checked(snapshot: input.path.snapshot))
        context.server.events.send { .snapshots }
        return .noContent(.init())
    }

    func restoreSnapshot(
        _ input: Operations.RestoreSnapshot.Input,
        context: AdministrationHost
    ) throws -> Operations.RestoreSnapshot.Output {
        let snapshot = try context.server.snapshots.restore(Self.checked(snapshot: input.path.snapshot))
        context.server.events.send { .restored }
        return .ok(.init(body: .json(.init(snapshot))))
    }

    func compareSnapshot(
        _ input: Operations.CompareSnapshot.Input,
        context: AdministrationHost
    ) throws -> Operations.CompareSnapshot.Output {
        let comparison = try context.server.snapshots.compare(
            Self.checked(snapshot: input.path.snapshot),
            with: input.query.other.map { try Self.checked(snapshot: $0) }
        )
        return .ok(.init(body: .json(.init(comparison))))
    }

    private static func checked(snapshot name: String) throws(AdministrationFailure) -> String {
        if EmulatorSnapshots.isName(name) { return name }
        throw AdministrationFailure(
            .badRequest,
            .invalidRequest,
            """
            The name of a snapshot has 1 to 64 letters, digits, points, underscores and hyphens, and begins with a letter or a digit.
            """
        )
    }
}

extension Components.Schemas.Snapshot {
    fileprivate init(_ snapshot: Snapshot) {
        self.init(
            name: snapshot.name,
            timestamp: snapshot.time.milliseconds,
            bytes: snapshot.bytes,
            records: snapshot.records
        )
    }
}

extension Components.Schemas.SnapshotComparison {
    fileprivate init(_ comparison: SnapshotComparison) {
        self.init(
            added: comparison.added,
            changed: comparison.changed,
            removed: comparison.removed,
            records: comparison.records.map { record in
                .init(
                    kind: .init(record.kind),
                    container: record.container,
                    environment: .init(record.environment),
                    database: record.owner == nil ? ._public : ._private,
                    ownerRecordName: record.owner,
                    zoneName: record.zoneName,
                    recordName: record.recordName,
                    recordType: record.recordType,
                    before: record.before,
                    after: record.after
                )
            },
            schemas: comparison.schemas.map { schema in
                .init(
                    container: schema.container,
                    environment: .init(schema.environment),
                    changes: Components.Schemas.SchemaChanges(schema.comparison).changes
                )
            }
        )
    }
}

extension Components.Schemas.DifferenceKind {
    fileprivate init(_ kind: SnapshotComparison.Kind) {
        self =
            switch kind {
            case .added: .added
            case .changed: .changed
            case .removed: .removed
            }
    }
}
