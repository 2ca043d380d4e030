import CloudKitModel
import CloudKitSchema
import Testing

@testable import CloudKitEmulator

/// The failure of an operation, by its type, the record that exists, and the caller.
struct OperationRuleTests {
    private static let tagged = Record(recordType: "Note", recordName: "a", recordChangeTag: "1")
    private static let stale = Record(recordType: "Note", recordName: "a", recordChangeTag: "0")
    private static let untagged = Record(recordType: "Note", recordName: "a")

    private typealias Line = (RecordOperation.OperationType, Record, exists: Bool, failure: String?)

    @Test func anOperationFailsByTheRecordThatItFinds() throws {
        let lines: [Line] = [
            (.create, Self.untagged, false, nil),
            (.create, Self.tagged, false, "NOT_FOUND: recordChangeTag specified, but record not found"),
            (.create, Self.untagged, true, "CONFLICT: record to insert already exists"),
            (.update, Self.tagged, true, nil),
            (.update, Self.tagged, false, "NOT_FOUND: recordChangeTag specified, but record not found"),
            (.update, Self.stale, true, "CONFLICT: client oplock error updating record"),
            (
                .update, Self.untagged, true,
                "BAD_REQUEST: recordChangeTag is required; the forced operation does without"
            ),
            (.update, Record(recordType: "Note"), true, "BAD_REQUEST: recordName is required"),
            (.replace, Self.stale, true, "CONFLICT: client oplock error updating record"),
            (.forceUpdate, Self.stale, true, nil),
            (.forceUpdate, Self.stale, false, nil),
            (.forceReplace, Self.untagged, false, nil),
            (.delete, Self.tagged, true, nil),
            (
                .delete, Self.untagged, true,
                "BAD_REQUEST: recordChangeTag is required; the forced operation does without"
            ),
            (.delete, Self.tagged, false, "NOT_FOUND: recordChangeTag specified, but record not found"),
            (.forceDelete, Self.stale, true, nil),
            (.forceDelete, Self.untagged, false, nil),
            (
                .create, Record(recordType: "cloudKit.share", recordName: "a"), false,
                "BAD_REQUEST: Cannot share - no such record exists to share"
            ),
            (
                .create, Record(recordType: "Note", recordName: "_a"), false,
                "BAD_REQUEST: '_a' is not a valid record name"
            ),
        ]
        for (type, request, exists, expected) in lines {
            let facts = try facts(type, request, exists: exists)
            #expect(failure(of: facts) == expected, "\(type) \(request)")
        }
    }

    @Test func anOperationFailsByItsCaller() throws {
        let lines: [(RecordOperation.OperationType, user: String?, SharePermission?, failure: String?)] = [
            (.update, nil, nil, "ACCESS_DENIED: WRITE operation not permitted"),
            (.update, "ben", nil, "ACCESS_DENIED: WRITE operation not permitted"),
            (.update, "ann", nil, nil),
            (.update, "ann", .readOnly, "ACCESS_DENIED: WRITE operation not permitted"),
            (.update, "ann", .readWrite, nil),
            (
                .delete, "ann", .readOnly,
                "ACCESS_DENIED: WRITE operation not permitted"
            ),
            (.delete, "ann", .readWrite, nil),
        ]
        for (type, user, permission, expected) in lines {
            let facts = try facts(
                type,
                Self.tagged,
                exists: true,
                user: user,
                scope: permission == nil ? .public : .shared,
                participation: permission.map {
                    OperationFacts.Participation(permission: $0, administers: false, isRoot: false)
                }
            )
            let broken = failure(of: facts)
            #expect(broken == expected, "\(type) by \(user ?? "anonymous")")
        }
    }

    private func failure(of facts: OperationFacts) -> String? {
        do {
            try OperationRules.all.check(facts)
            return nil
        } catch {
            return error.description
        }
    }

    private func facts(
        _ type: RecordOperation.OperationType,
        _ request: Record,
        exists: Bool,
        user: String? = "ann",
        scope: DatabaseScope = .private,
        participation: OperationFacts.Participation? = nil
    ) throws -> OperationFacts {
        let row = RecordRow(
            id: 1,
            zone: 1,
            name: "a",
            type: 1,
            sequence: 1,
            isDeleted: false,
            created: 0,
            creator: "ann",
            modified: 0,
            modifier: "ann",
            body: nil
        )
        return OperationFacts(
            requirements: try OperationRequirements(type),
            request: request,
            name: request.recordName ?? "a",
            existing: exists ? row : nil,
            existingType: exists ? "Note" : nil,
            isHidden: false,
            participation: participation,
            scope: scope,
            user: user,
            permissions: CallerRoles(user: user).permissions(for: nil, creator: exists ? row.creator : nil),
            configuration: EmulatorConfiguration()
        )
    }
}
