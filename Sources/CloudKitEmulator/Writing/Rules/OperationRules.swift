import CloudKitModel
import CloudKitRuleIDs
import CloudKitSchema

/// The facts for the rules about an operation: the operation, its caller, and the record that it finds.
struct OperationFacts {
    let requirements: OperationRequirements
    let request: Record
    /// The record name of the request, or the new name of a record that the request leaves unnamed.
    let name: String
    /// The record of that name; `nil` where the caller does not see it.
    let existing: RecordRow?
    let existingType: String?
    /// Whether the name belongs to a record that the caller does not see.
    let isHidden: Bool
    /// The caller's permission for the existing record, in a zone of another user.
    let participation: Participation?
    let scope: DatabaseScope
    let user: String?
    /// The permissions for the record that the grants of its type give the caller.
    let permissions: ContainerSchema.Permissions
    let configuration: EmulatorConfiguration

    var mustExist: Bool { requirements.presence == .present }
    var mustBeMissing: Bool { requirements.presence == .missing }
    var deletes: Bool { requirements.deletes }
    var isShare: Bool { (existingType ?? request.recordType) == Record.shareType }

    /// A participant's relation to a record.
    struct Participation {
        let permission: SharePermission?
        /// Whether the record is a share that the participant administers.
        let administers: Bool
        /// Whether the record is the root of a share.
        let isRoot: Bool
    }
}

/// The facts for the rules about the deletion of a record.
struct DeletionFacts {
    /// The name of a record that would be deleted although a remaining record refers to it with `VALIDATE`.
    let requiredName: String?
}

/// The rules about an operation and the record that it finds (section "Modifying records": create, update, replace,
/// delete and their forced forms).
enum OperationRules {
    /// The rules about the name of a record that a request names, before it is looked up.
    static let name: [WriteRule<String>] = [
        WriteRule(.controlCharacterInRecordName) {
            $0.hasControlCharacters ? .controlCharacter(in: "a record name") : nil
        }
    ]

    static let all: [WriteRule<OperationFacts>] = [
        WriteRule(.missingRecordName) {
            guard $0.request.recordName == nil, $0.deletes || $0.mustExist else {
                return nil
            }
            return .badRequest("recordName is required")
        },
        WriteRule(.misspelledShareType) {
            $0.request.recordType == Record.misspelledShareType ? .shareOfMissingRecord($0.configuration) : nil
        },
        WriteRule("no record is created over one out of sight", tests: "ShareTests") {
            $0.isHidden && !$0.mustExist && !$0.deletes ? .denied("CREATE") : nil
        },
        WriteRule(.createOfExisting) {
            guard $0.mustBeMissing, $0.existing != nil else { return nil }
            let code: ServerErrorCode =
                switch $0.configuration.unsettled.createOnExisting {
                case .exists: .exists
                case .conflict: .conflict
                }
            return EmulatorError(code, "record to insert already exists").helped(by: .fetchAgain, .anotherName)
        },
        // A record that carries a change tag existed once. The text is the service's response to a save into the wrong
        // zone.
        WriteRule(.createWithTag) {
            guard $0.mustBeMissing, $0.request.recordChangeTag != nil else { return nil }
            return .missingTaggedRecord
        },
        WriteRule(.updateWithoutTag, .deleteWithoutTag) {
            let unsettled = $0.configuration.unsettled
            let missingTag = $0.deletes ? unsettled.deleteWithoutTag : unsettled.updateWithoutTag
            guard $0.mustExist, $0.request.recordChangeTag == nil, missingTag != .accepted else {
                return nil
            }
            return .badRequest("recordChangeTag is required; the forced operation does without")
                .refused(by: $0.deletes ? .deleteWithoutTag : .updateWithoutTag).helped(by: .fetchAgain)
        },
        WriteRule(.updateOfMissing) {
            guard $0.mustExist, $0.existing == nil else { return nil }
            return $0.request.recordChangeTag == nil ? .recordNotFound : .missingTaggedRecord
        },
        WriteRule(.updateWithOldTag, .replaceWithOldTag, .deleteWithOldTag) {
            guard $0.mustExist, let tag = $0.request.recordChangeTag,
                let existing = $0.existing,
                tag != existing.changeTag
            else { return nil }
            return $0.deletes ? .staleChangeTag.refused(by: .deleteWithOldTag) : .staleChangeTag
        },
        WriteRule(.forceDeleteOfMissing) {
            guard $0.requirements.presence == .either, $0.deletes, $0.existing == nil,
                !$0.configuration.unsettled.forceDeleteOfMissingSucceeds
            else { return nil }
            return .recordNotFound
        },
        // Only the service creates these records, and clients cannot delete them.
        WriteRule(.userRecordOfClient) {
            guard $0.scope == .public, ($0.existingType ?? $0.request.recordType) == ContainerSchema.userType else {
                return nil
            }
            let code = $0.configuration.unsettled.creationOrDeletionOfUserRecord
            switch ($0.existing != nil, $0.deletes) {
            case (true, true): return .denied("WRITE", code)
            case (false, false): return .denied("CREATE", code)
            case (true, false), (false, true): return nil
            }
        },
        // A schema grants READ, CREATE and WRITE; without a schema they are granted to `_world`, `_icloud` and
        // `_creator`. An anonymous caller can write nothing, whatever the grants. In private databases grants have no
        // effect.
        WriteRule(.recordOfAnotherUser, .createWithoutUser, .createWithoutGrant) {
            guard $0.scope == .public else { return nil }
            if $0.existing != nil {
                return $0.user != nil && $0.permissions.contains(.write)
                    ? nil : .ungranted("WRITE", on: $0.existingType, to: $0.user).refused(by: .recordOfAnotherUser)
            }
            return $0.user != nil && $0.permissions.contains(.create)
                ? nil
                : .ungranted("CREATE", on: $0.request.recordType, to: $0.user)
                    .refused(by: $0.user == nil ? .createWithoutUser : .createWithoutGrant)
        },
        // Every participant may leave a share. To leave it, the participant deletes it.
        WriteRule(
            "a participant deletes no record that is only readable, nor the root of a share",
            tests: "ShareTests"
        ) {
            guard $0.deletes, !$0.isShare, let participation = $0.participation else { return nil }
            return participation.permission == .readWrite && !participation.isRoot ? nil : .denied("WRITE")
        },
        WriteRule(.recordNameForm) {
            guard !$0.deletes, $0.existing == nil, !$0.configuration.allowsRecordName($0.name) else {
                return nil
            }
            return .badRequest("'\($0.name)' is not a valid record name")
        },
        WriteRule("a participant changes no record that is only readable", tests: "ShareTests") {
            guard !$0.deletes, let participation = $0.participation else { return nil }
            let isAllowed = $0.isShare ? participation.administers : participation.permission == .readWrite
            return isAllowed ? nil : .denied("WRITE")
        },
    ]

    static let deletion: [WriteRule<DeletionFacts>] = [
        WriteRule(.deletionOfValidatedTarget) { facts in
            facts.requiredName.map { name in
                EmulatorError(
                    .validatingReferenceError,
                    "record '\(name)' cannot be deleted while another record refers to it with VALIDATE"
                )
            }
        }
    ]
}

extension EmulatorError {
    static let recordNotFound = EmulatorError(.notFound, "Record not found")
    static let missingTaggedRecord = EmulatorError(.notFound, "recordChangeTag specified, but record not found")
    static let staleChangeTag =
        EmulatorError(.conflict, "client oplock error updating record").helped(by: .fetchAgain)

    /// The failure of an operation that the role of the caller does not allow (observed live for the public database).
    static func denied(_ operation: String, _ code: ServerErrorCode = .accessDenied) -> EmulatorError {
        EmulatorError(code, "\(operation) operation not permitted")
    }

    static func shareOfMissingRecord(_ configuration: EmulatorConfiguration) -> EmulatorError {
        EmulatorError(configuration.unsettled.shareOfMissingRecord, "Cannot share - no such record exists to share")
    }
}
