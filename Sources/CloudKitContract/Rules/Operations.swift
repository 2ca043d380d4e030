import CloudKitRuleIDs
import StreamingJSON

/// The seven operations of records/modify in each state that a record can have: one rule for each row of a table.
let operationRules = operationTable.map(\.rule)

/// The state of a record before an operation, and the change tag that the operation carries.
private enum State: String {
    case missing = "of a record that does not exist, with no change tag"
    case missingWithTag = "of a record that does not exist, with a change tag"
    case current = "with the present change tag"
    case stale = "with an old change tag"
    case untagged = "of an existing record, with no change tag"
}

/// The effect of an operation on the record, and its reply.
private enum Effect {
    /// The record is created with the fields sent.
    case created
    /// The record has the fields sent, and keeps its other fields.
    case updated
    /// The record has only the fields sent.
    case replaced
    /// The record is deleted.
    case deleted
    /// The record does not change. The item is a failure with this code, and with this reason where it is known.
    case refused(String, String? = nil)
    /// The record does not change. The whole request fails with this code and this reason.
    case refusesRequest(String, String)

    var clause: String {
        switch self {
        case .created: "creates it"
        case .updated: "changes the fields sent and keeps the others"
        case .replaced: "replaces the whole set of fields"
        case .deleted: "deletes it"
        case .refused(let code, _): "is refused as \(code)"
        case .refusesRequest(let code, _): "refuses the request as \(code)"
        }
    }
}

private struct Line {
    /// The identifier that the emulator's rule has, too.
    var identifier: RuleID?
    var operation: String
    var state: State
    /// The possible effects; only one where the sources agree.
    var effects: [Effect]
    var evidence: Set<ContractRule.Evidence>

    init(
        _ operation: String,
        _ state: State,
        _ effects: [Effect],
        _ evidence: Set<ContractRule.Evidence>,
        _ identifier: RuleID? = nil
    ) {
        self.identifier = identifier
        self.operation = operation
        self.state = state
        self.effects = effects
        self.evidence = evidence
    }
}

private let stale = Effect.refused("CONFLICT", "client oplock error updating record")
private let gone = Effect.refused("NOT_FOUND", "recordChangeTag specified, but record not found")
private let exists = [
    Effect.refused("CONFLICT", "record to insert already exists"),
    .refused("EXISTS", "record to insert already exists"),
]
private let untagged = [
    Effect.refusesRequest("BAD_REQUEST", "BadRequestException: missing required field 'recordChangeTag'"),
    .refused("BAD_REQUEST"),
]

private let operationTable: [Line] = [
    Line("create", .missing, [.created], [.archive, .recorded]),
    Line("create", .missingWithTag, [gone], [.inferred], .createWithTag),
    Line("create", .untagged, exists, [.archive, .native, .liveTests, .unconfirmed]),
    Line("create", .current, exists, [.archive, .native, .liveTests, .unconfirmed], .createOfExisting),
    Line("create", .stale, exists, [.archive, .native, .liveTests, .unconfirmed]),

    Line("update", .current, [.updated], [.archive, .recorded]),
    Line("update", .stale, [stale], [.archive, .native, .peers], .updateWithOldTag),
    Line("update", .untagged, untagged + [.updated], [.archive, .liveTests, .unconfirmed], .updateWithoutTag),
    Line("update", .missingWithTag, [gone], [.native, .observed], .updateOfMissing),
    Line("update", .missing, untagged + [.refused("NOT_FOUND")], [.archive, .liveTests, .unconfirmed]),

    Line("forceUpdate", .current, [.updated], [.archive]),
    Line("forceUpdate", .stale, [.updated], [.archive]),
    Line("forceUpdate", .untagged, [.updated], [.archive]),
    Line("forceUpdate", .missing, [.created], [.archive]),
    Line("forceUpdate", .missingWithTag, [.created], [.archive, .inferred]),

    Line("replace", .current, [.replaced], [.archive]),
    Line("replace", .stale, [stale], [.archive], .replaceWithOldTag),
    Line("replace", .untagged, untagged + [.replaced], [.archive, .unconfirmed]),
    Line("replace", .missingWithTag, [gone], [.inferred]),
    Line("replace", .missing, untagged + [.refused("NOT_FOUND")], [.archive, .unconfirmed]),

    Line("forceReplace", .current, [.replaced], [.archive]),
    Line("forceReplace", .stale, [.replaced], [.archive]),
    Line("forceReplace", .untagged, [.replaced], [.archive]),
    Line("forceReplace", .missing, [.created], [.archive]),
    Line("forceReplace", .missingWithTag, [.created], [.archive, .inferred]),

    Line("delete", .current, [.deleted], [.archive, .peers]),
    Line("delete", .stale, [stale], [.archive, .inferred], .deleteWithOldTag),
    Line("delete", .untagged, untagged + [.deleted], [.archive, .unconfirmed], .deleteWithoutTag),
    Line("delete", .missingWithTag, [.refused("NOT_FOUND")], [.inferred]),
    Line("delete", .missing, untagged + [.refused("NOT_FOUND")], [.archive, .unconfirmed]),

    Line("forceDelete", .current, [.deleted], [.archive]),
    Line("forceDelete", .stale, [.deleted], [.archive]),
    Line("forceDelete", .untagged, [.deleted], [.archive]),
    Line("forceDelete", .missing, [.deleted, .refused("NOT_FOUND")], [.unconfirmed], .forceDeleteOfMissing),
    Line("forceDelete", .missingWithTag, [.deleted, .refused("NOT_FOUND")], [.unconfirmed]),
]

extension Line {
    var rule: ContractRule {
        let clauses = effects.map(\.clause).joined(separator: ", or ")
        return ContractRule(identifier, "\(operation) \(state.rawValue) \(clauses)", evidence) { session in
            try await check(in: &session)
        }
    }

    /// Brings the record into its state, sends the operation, and compares the reply and a later lookup with the
    /// possible effects.
    private func check(in session: inout ContractSession) async throws {
        let zone = try await session.makeZone()
        let (before, tag) = try await prepare("x", in: zone, session: &session)
        let deletes = operation == "delete" || operation == "forceDelete"
        let reply = try await session.modify(
            [Operation(operation, "x", deletes ? nil : ["title": "new"], type: deletes ? nil : noteType, tag: tag)],
            in: zone
        )
        guard let effect = effects.first(where: { reply.difference(from: $0.reply(before)) == nil }) else {
            throw reply.violation(
                reply.difference(from: .anyOf(effects.map { $0.reply(before) })) ?? "",
                expected: "\(JSONPattern.anyOf(effects.map { $0.reply(before) }))"
            )
        }
        let after = try await session.lookup(["x"], in: zone)
        switch effect {
        case .created, .updated, .replaced:
            try after.expectRecords([effect.record(before)])
            try after.require(
                after.records[0]["recordChangeTag"] == reply.records[0]["recordChangeTag"],
                "the lookup's change tag to be the reply's"
            )
            if let before {
                try after.require(after.records[0]["created"] == before["created"], "`created` to stay as it was")
            } else {
                let record = after.records[0]
                try after.require(record["created"] == record["modified"], "`created` to be `modified` in a new record")
            }
        case .deleted:
            try after.expectRecords([.failure("x", "NOT_FOUND")])
        case .refused, .refusesRequest:
            try after.expectRecords([before.map(JSONPattern.value) ?? .failure("x", "NOT_FOUND")])
        }
    }

    /// Creates the record in its state. Returns it as a lookup does, with the change tag that the operation carries.
    private func prepare(
        _ name: String,
        in zone: Destination,
        session: inout ContractSession
    ) async throws -> (before: JSONValue?, tag: String?) {
        if state == .missing { return (nil, nil) }
        if state == .missingWithTag {
            // The tag is of the same zone, but of another record.
            return (nil, try await session.save("other", in: zone)["recordChangeTag"]?.stringValue)
        }
        let first = try await session.save(name, ["title": "old", "body": "kept"], in: zone)
        if state == .stale {
            try await session.modify([.forceUpdate(name, ["title": "newer"])], in: zone)
                .expectRecords([.record(name, ["title": "newer", "body": "kept"])])
        }
        let before = try await session.lookup([name], in: zone).record()
        return (before, state == .untagged ? nil : first["recordChangeTag"]?.stringValue)
    }
}

extension Effect {
    /// The reply to the operation.
    fileprivate func reply(_ before: JSONValue?) -> JSONPattern {
        let item: JSONPattern
        switch self {
        case .created, .updated, .replaced: item = record(before)
        case .deleted: item = .deleted("x")
        case .refused(let code, let reason): item = .failure("x", code, reason: reason)
        case .refusesRequest(let code, let reason): return .topLevelFailure([code], reason: reason)
        }
        return .including(["records": .array([item])], without: ["serverErrorCode"])
    }

    /// The record after an operation that succeeded. Its change tag differs from the one before.
    fileprivate func record(_ before: JSONValue?) -> JSONPattern {
        let tag = before?["recordChangeTag"]?.stringValue.map(JSONPattern.text(otherThan:)) ?? .text
        return switch self {
        case .updated: .record("x", ["title": "new", "body": "kept"], tag: tag)
        case .replaced: .record("x", ["title": "new"], cleared: ["body"], tag: tag)
        default: .record("x", ["title": "new"], tag: tag)
        }
    }
}
