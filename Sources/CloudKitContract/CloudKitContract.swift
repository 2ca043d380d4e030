/// The protocol of CloudKit Web Services as rules that can be checked against any address.
///
/// The emulator of this package keeps all rules. You can check another server or a proxy with the same rules, and also
/// Apple's service if you have credentials for it. ``ContractTarget`` is the address to check.
///
/// ```swift
/// for (rule, outcome) in await CloudKitContract.run(against: target) {
///     print(rule, outcome)
/// }
/// ```
///
/// In a test, each rule can be an argument:
///
/// ```swift
/// @Test(arguments: CloudKitContract.rules)
/// func serviceKeepsTheContract(rule: ContractRule) async throws {
///     try await rule.verify(against: target)
/// }
/// ```
///
/// The check of a rule creates zones and records with unique names, and deletes them afterwards. Where sources disagree
/// on a response (``ContractRule/evidence`` has ``ContractRule/Evidence/unconfirmed``), a rule accepts every possible
/// response. Against a service whose code you cannot read, run the settled rules only (``ContractRule/isSettled``).
public enum CloudKitContract {
    /// All rules, by subject.
    public static let rules: [ContractRule] = [
        replyRules, requestFormRules, endpointRules,
        credentialRules, serverKeyRules, permissionRules, environmentRules, userRules, userRecordRules,
        zoneRules,
        operationRules, recordIdentityRules, modifyReplyRules, batchRules,
        lookupRules, desiredKeysRules, numbersAsStringsRules,
        fieldValueRules, fieldTypeRules, encryptedFieldRules, referenceRules,
        zoneChangesRules, databaseChangesRules,
        subscriptionRules, deviceTokenRules, pushRules,
        assetRules,
        comparatorRules, filterRules, systemFieldRules, sortRules, pagingRules,
        sharingRules, schemaRules,
    ].flatMap(\.self)

    /// The result of checking a rule.
    public enum Outcome: Sendable, CustomStringConvertible {
        /// The rule holds.
        case holds
        /// The rule was not checked, because the target lacks these requirements.
        case skipped(Set<ContractRule.Requirement>)
        /// The rule is broken.
        case broken(ContractViolation)
        /// The rule could not be checked: the transport failed.
        case failed(any Error)

        /// The outcome in a line, or several when the rule is broken.
        public var description: String {
            switch self {
            case .holds: "holds"
            case .skipped(let missing):
                "skipped: the target lacks \(missing.map { "\($0)" }.sorted().joined(separator: ", "))"
            case .broken(let violation): "is broken\n\(violation)"
            case .failed(let error): "could not be checked: \(error)"
            }
        }
    }

    /// Checks rules one after the other.
    ///
    /// - Parameters:
    ///   - rules: The rules.
    ///   - target: The address to check.
    /// - Returns: Each rule with its outcome, in order.
    public static func run(
        _ rules: [ContractRule] = CloudKitContract.rules,
        against target: ContractTarget
    ) async -> [(rule: ContractRule, outcome: Outcome)] {
        var outcomes: [(rule: ContractRule, outcome: Outcome)] = []
        for rule in rules {
            let missing = rule.requirements(missingIn: target)
            guard missing.isEmpty else {
                outcomes.append((rule, .skipped(missing)))
                continue
            }
            do {
                try await rule.verify(against: target)
                outcomes.append((rule, .holds))
            } catch let violation as ContractViolation {
                outcomes.append((rule, .broken(violation)))
            } catch {
                outcomes.append((rule, .failed(error)))
            }
        }
        return outcomes
    }

    /// The record types of the suite in the schema language, for a container that does not create them on the first
    /// save.
    public static let schema = """
        DEFINE SCHEMA
            RECORD TYPE ContractNote (
                "___recordID" REFERENCE QUERYABLE,
                "___createdBy" REFERENCE QUERYABLE,
                "___createTime" TIMESTAMP QUERYABLE SORTABLE,
                title STRING QUERYABLE SORTABLE SEARCHABLE,
                label STRING,
                body STRING QUERYABLE SORTABLE SEARCHABLE,
                count INT64 QUERYABLE SORTABLE,
                price DOUBLE QUERYABLE SORTABLE,
                due TIMESTAMP QUERYABLE SORTABLE,
                data BYTES,
                place LOCATION QUERYABLE SORTABLE,
                link REFERENCE QUERYABLE,
                links LIST<REFERENCE> QUERYABLE,
                tags LIST<STRING> QUERYABLE,
                numbers LIST<INT64> QUERYABLE,
                amounts LIST<DOUBLE> QUERYABLE,
                dates LIST<TIMESTAMP> QUERYABLE,
                blobs LIST<BYTES>,
                places LIST<LOCATION>,
                secret ENCRYPTED STRING,
                photo ASSET,
                cover ASSET,
                album LIST<ASSET>,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );
            RECORD TYPE ContractItem (
                "___recordID" REFERENCE QUERYABLE,
                "___createdBy" REFERENCE QUERYABLE,
                "___createTime" TIMESTAMP QUERYABLE SORTABLE,
                "___modTime" TIMESTAMP QUERYABLE SORTABLE,
                "___modifiedBy" REFERENCE QUERYABLE,
                "___etag" STRING QUERYABLE,
                name STRING QUERYABLE SORTABLE SEARCHABLE,
                note STRING QUERYABLE SORTABLE SEARCHABLE,
                count INT64 QUERYABLE SORTABLE,
                price DOUBLE QUERYABLE SORTABLE,
                due TIMESTAMP QUERYABLE SORTABLE,
                tags LIST<STRING> QUERYABLE,
                nums LIST<INT64> QUERYABLE,
                link REFERENCE QUERYABLE SORTABLE,
                data BYTES QUERYABLE,
                place LOCATION QUERYABLE SORTABLE,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );
            RECORD TYPE ContractGuarded (
                title STRING QUERYABLE,
                GRANT READ, WRITE TO "_creator",
                GRANT CREATE TO "_icloud"
            );
            RECORD TYPE ContractClosed (
                title STRING QUERYABLE,
                GRANT READ TO "_world"
            );
            RECORD TYPE ContractAnchor (
                "___recordID" REFERENCE QUERYABLE,
                title STRING QUERYABLE,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );
        """
}
