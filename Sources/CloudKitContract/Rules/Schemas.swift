import CloudKitRuleIDs
import StreamingJSON

/// The effects of a container's schema: fields, indexes and grants. The rules need ``CloudKitContract/schema``.
let schemaRules: [ContractRule] = [
    ContractRule(
        .fieldNotInSchema,
        "a save of a field that the schema lacks is refused",
        [.observed],
        requires: [.user, .closedSchema]
    ) {
        session in
        let name = session.unique("a")
        let failure = JSONPattern.failure(
            name,
            "BAD_REQUEST",
            reason: session.target.environment == "development" ? "Field unheard not found in ContractNote" : nil
        )
        try await session.modify([.create(name, ["unheard": "a"])], in: .privateDatabase).expectRecords([failure])
    },
    ContractRule(
        .unknownTypeOfServerKey,
        "a record type that the schema lacks is NOT_FOUND for a server-to-server key, or a BAD_REQUEST",
        [.liveTests, .unconfirmed],
        requires: [.serverKey, .closedSchema]
    ) { session in
        let name = session.unique("a")
        let key = Destination.publicDatabase(as: .serverKey)
        try await session.modify([.create(name, ["title": "a"], type: "ContractUnheard")], in: key)
            .expectRecords([.failure(name, "NOT_FOUND", "BAD_REQUEST")])
        try await session.lookup([name], in: key).expectRecords([.failure(name, "NOT_FOUND")])
    },
    ContractRule(
        .filterWithoutIndex,
        "a filter needs the index QUERYABLE",
        [.observed],
        requires: [.user, .closedSchema]
    ) { session in
        let zone = try await session.makeZone()
        for field in ["label", "data"] {
            let value: Field = field == "data" ? .typed("AA==", "BYTES") : "a"
            try await session.query(filters: [.filter("EQUALS", field, value)], in: zone)
                .expectError("BAD_REQUEST", reason: "Field '\(field)' is not marked queryable")
        }
    },
    ContractRule(
        .sortWithoutIndex,
        "a sort needs the index SORTABLE",
        [.archive, .inferred],
        requires: [.user, .closedSchema]
    ) { session in
        let zone = try await session.makeZone()
        for field in ["label", "link"] {
            try await session.query(sorts: [.sort(field)], in: zone)
                .expectError("BAD_REQUEST", reason: "Field '\(field)' is not marked sortable")
        }
    },
    ContractRule(
        .searchWithoutIndex,
        "a search in a field needs the index SEARCHABLE",
        [.archive, .inferred],
        requires: [.user, .closedSchema]
    ) {
        session in
        let zone = try await session.makeZone()
        try await session.query(filters: [.filter("CONTAINS_ALL_TOKENS", "label", "a")], in: zone)
            .expectError("BAD_REQUEST", reason: "Field 'label' is not marked searchable")
    },
    ContractRule(
        .queryWithoutFilter,
        "a query without filters needs the index QUERYABLE of record names",
        [.observed],
        requires: [.user, .closedSchema]
    ) { session in
        let zone = try await session.makeZone()
        try await session.query("ContractGuarded", in: zone)
            .expectError("BAD_REQUEST", reason: "Field 'recordName' is not marked queryable")
    },
    ContractRule(
        "READ that is granted to the creator alone hides a record from others",
        [.archive, .inferred],
        requires: [.user, .secondUser, .closedSchema]
    ) { session in
        let name = session.unique("a")
        session.willDelete(name, in: mine)
        let record = JSONPattern.record(name, ["title": "a"], type: "ContractGuarded")
        try await session.modify([.create(name, ["title": "a"], type: "ContractGuarded")], in: mine)
            .expectRecords([record])
        try await session.lookup([name], in: mine).expectRecords([record])
        let others = mine.seen(by: .secondUser)
        try await session.lookup([name], in: others).expectRecords([.failure(name, "ACCESS_DENIED", "NOT_FOUND")])
    },
    ContractRule(
        .createWithoutGrant,
        "a record type without a grant of CREATE takes no records",
        [.observed],
        requires: [.user, .closedSchema]
    ) { session in
        let name = session.unique("a")
        try await session.modify([.create(name, ["title": "a"], type: "ContractClosed")], in: mine)
            .expectRecords([.failure(name, "ACCESS_DENIED", reason: "CREATE operation not permitted")])
    },
]

private let mine = Destination.publicDatabase(as: .user)
