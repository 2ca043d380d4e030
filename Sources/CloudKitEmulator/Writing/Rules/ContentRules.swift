import CloudKitModel
import CloudKitRuleIDs
import CloudKitSchema

/// The facts for the rules about the type of a record that is saved.
struct TypeFacts {
    /// The type of the request.
    let requested: String?
    /// The type of the existing record.
    let existing: String?
    /// Whether the schema has the type.
    let isKnown: Bool
    /// Whether writes add types and fields to the schema.
    let extendsSchema: Bool
    let isProduction: Bool
    let limits: EmulatorConfiguration.Limits
    /// The code for a type that the schema lacks.
    let unknownTypeCode: ServerErrorCode
}

/// The facts for the rules about one field of a record that is saved.
struct FieldFacts {
    let name: String
    let type: String
    /// Whether the schema has the field.
    let isKnown: Bool
    let extendsSchema: Bool
    let isProduction: Bool
    let limits: EmulatorConfiguration.Limits

    /// Whether the field is a field of the service's type of shares.
    fileprivate var isOfShares: Bool { type == Record.shareType && name.hasPrefix("cloudkit.") }
}

/// The facts for the rules about the content of a record that is saved.
struct ContentFacts {
    let name: String
    let type: String
    /// Whether the record exists before the operation.
    let exists: Bool
    let newFieldCount: Int
    let knownFieldCount: Int
    /// In a zone of another user, the caller's permission in the share of the record's new parent; `nil` where the
    /// record keeps its parent, or the parent is in no share of the caller.
    let permissionAtParent: SharePermission?
    /// Whether the record is created, or gets another parent, in a zone of another user.
    let isPlacedByParticipant: Bool
    /// The references with `VALIDATE` and `DELETE_SELF`.
    let links: [LinkFacts]
    /// The number of bytes of names and values, without files.
    let size: Int
    let configuration: EmulatorConfiguration

    struct LinkFacts {
        let target: String
        let action: Link.Action
        /// For `VALIDATE`: whether the target exists, or will by the end of the batch.
        let targetExists: Bool
        /// For `DELETE_SELF`: the number of other records that refer to the target.
        let otherSources: Int
    }
}

/// The rules about the content of a record. ``FieldRules`` decides the values that a field may have.
enum ContentRules {
    static let type: [WriteRule<TypeFacts>] = [
        WriteRule(.updateWithAnotherType) {
            guard let existing = $0.existing, let requested = $0.requested, requested != existing else { return nil }
            return .badRequest("invalid attempt to update record from type '\(existing)' to '\(requested)'")
        },
        WriteRule(.createWithoutType, .forcedOperationWithoutType) {
            guard $0.existing == nil, $0.requested == nil else { return nil }
            return .badRequest("recordType is required to create a record")
        },
        WriteRule("a record type's name is valid", tests: "OperationTests") {
            guard $0.existing == nil, let type = $0.requested, type != Record.shareType,
                !type.isSchemaIdentifier || type.utf8.count > $0.limits.nameLength
            else {
                return nil
            }
            return .badRequest("'\(type)' is not a valid record type name")
        },
        WriteRule(.typeNotDeployed, .unknownTypeOfServerKey) {
            guard let type = $0.existing ?? $0.requested, !$0.isKnown, !$0.extendsSchema, !FieldRules.isSystemType(type)
            else { return nil }
            let reason = $0.isProduction ? EmulatorError.notDeployed(type: type) : .notDefined(type: type)
            let failure = EmulatorError($0.unknownTypeCode, reason.reason)
            return $0.isProduction
                ? failure.helped(by: .deployment) : failure.helped(by: .definition(recordType: type, field: nil))
        },
    ]

    static let field: [WriteRule<FieldFacts>] = [
        WriteRule(.fieldNameForm) {
            let isLong = $0.name.utf8.count > $0.limits.nameLength
            guard isLong || !$0.isKnown && !$0.isOfShares && !$0.name.isSchemaIdentifier else { return nil }
            return .badRequest("'\($0.name)' is not a valid field name")
        },
        WriteRule(.unknownField, .fieldNotInSchema) {
            if $0.isKnown || $0.extendsSchema || $0.isOfShares { return nil }
            return $0.isProduction
                ? EmulatorError.notDeployed(field: $0.name, of: $0.type).helped(by: .deployment)
                : .notDefined(field: $0.name, of: $0.type)
                    .helped(by: .definition(recordType: $0.type, field: $0.name))
        },
    ]

    static let content: [WriteRule<ContentFacts>] = [
        WriteRule(.fieldsOfType) {
            let limit = $0.configuration.limits.fieldsPerRecordType
            guard $0.newFieldCount > 0, $0.newFieldCount + $0.knownFieldCount > limit else { return nil }
            return .badRequest("record type '\($0.type)' would have more than \(limit) fields")
        },
        WriteRule("what a participant writes is below what is shared", tests: "ShareTests") {
            guard $0.isPlacedByParticipant, $0.permissionAtParent != .readWrite else { return nil }
            return .denied($0.exists ? "WRITE" : "CREATE")
        },
        WriteRule(.targetOfValidate) { facts in
            facts.links.first { $0.action == .validate && !$0.targetExists }.map { link in
                EmulatorError(
                    .validatingReferenceError,
                    "the record '\(link.target)', referred to with VALIDATE, does not exist"
                )
            }
        },
        WriteRule(.referencesWithDeleteSelf) { facts in
            let limit = facts.configuration.limits.deleteSelfReferencesPerTarget
            return facts.links.first { $0.action == .deleteSelf && $0.otherSources >= limit }.map { link in
                .badRequest("more than \(limit) records would refer to record '\(link.target)' with DELETE_SELF")
            }
        },
        WriteRule(.recordSize) {
            let limit = $0.configuration.limits.recordSize
            guard $0.size > limit else { return nil }
            return EmulatorError(
                $0.configuration.unsettled.oversizedRecord,
                "record '\($0.name)' has \($0.size) bytes; at most \(limit) are allowed"
            )
        },
    ]
}
