import StreamingJSON

// The requests of rules, in the words of the protocol.
extension ContractSession {
    /// Creates a zone for this session alone, by default in the first user's private database.
    mutating func makeZone(_ name: String = "Notes", in destination: Destination = .privateDatabase) async throws
        -> Destination
    {
        let zone = destination.zone(unique(name))
        willDelete(zone: zone)
        let reply = try await modifyZones([("create", zone.zoneName)], in: destination)
        try reply.expectZones([.zone(zone.zoneName)])
        return zone
    }

    func modifyZones(_ operations: [(type: String, name: String)], in destination: Destination) async throws
        -> ContractReply
    {
        let operations = operations.map { operation -> JSONValue in
            [
                "operationType": .string(operation.type),
                "zone": ["zoneID": ["zoneName": .string(operation.name)]],
            ]
        }
        return try await post("zones/modify", ["operations": .array(operations)], in: destination)
    }

    /// Sends operations on records, with `atomic` false by default, because the effect of a request without `atomic` is
    /// not known. An option `atomic` of null sends no `atomic`.
    func modify(
        _ operations: [Operation],
        in destination: Destination,
        _ options: [String: JSONValue] = [:]
    ) async throws -> ContractReply {
        var body = options
        if body["atomic"] == .null {
            body.removeValue(forKey: "atomic")
        } else if body["atomic"] == nil {
            body["atomic"] = false
        }
        body["operations"] = .array(operations.map(\.json))
        return try await post("records/modify", .object(withZone(body, destination)), in: destination)
    }

    func lookup(
        _ names: [String],
        in destination: Destination,
        _ options: [String: JSONValue] = [:]
    ) async throws -> ContractReply {
        var body = options
        body["records"] = .array(names.map { ["recordName": .string($0)] })
        return try await post("records/lookup", .object(withZone(body, destination)), in: destination)
    }

    func query(
        _ recordType: String = noteType,
        filters: [JSONValue] = [],
        sorts: [JSONValue] = [],
        in destination: Destination,
        _ options: [String: JSONValue] = [:]
    ) async throws -> ContractReply {
        var query: [String: JSONValue] = ["recordType": .string(recordType)]
        if !filters.isEmpty { query["filterBy"] = .array(filters) }
        if !sorts.isEmpty { query["sortBy"] = .array(sorts) }
        var body = options
        body["query"] = .object(query)
        return try await post("records/query", .object(withZone(body, destination)), in: destination)
    }

    /// Requests the changes of one zone from changes/zone.
    func changes(
        in destination: Destination,
        since token: String? = nil,
        options: [String: JSONValue] = [:]
    ) async throws -> ContractReply {
        var zone = options
        zone["zoneID"] = destination.zoneID ?? ["zoneName": "_defaultZone"]
        zone["syncToken"] = token.map(JSONValue.string)
        return try await post("changes/zone", ["zones": [.object(zone)]], in: destination)
    }

    private func withZone(_ body: [String: JSONValue], _ destination: Destination) -> [String: JSONValue] {
        var body = body
        if body["zoneID"] == nil { body["zoneID"] = destination.zoneID }
        return body
    }
}

// The setup of rules. A setup that fails is a violation like any other.
extension ContractSession {
    /// Saves a new record, and returns it as the reply has it.
    @discardableResult
    mutating func save(
        _ name: String,
        _ fields: Fields = [:],
        in destination: Destination,
        type: String = noteType
    ) async throws -> JSONValue {
        if destination.zoneID == nil { willDelete(name, in: destination) }
        let reply = try await modify([.create(name, fields, type: type)], in: destination)
        return try reply.record()
    }

    /// Saves any number of records, 200 in each request.
    mutating func save(_ operations: [Operation], in destination: Destination) async throws {
        for start in stride(from: 0, to: operations.count, by: 200) {
            let batch = Array(operations[start..<min(start + 200, operations.count)])
            let reply = try await modify(batch, in: destination, ["desiredKeys": []])
            for index in batch.indices { _ = try reply.record(index) }
        }
    }

    /// The state of records, as a lookup returns it.
    func state(of names: [String], in destination: Destination) async throws -> [JSONValue] {
        try await lookup(names, in: destination).records
    }

    /// All changes of a zone since a token, over all pages.
    func allChanges(in destination: Destination, since token: String? = nil) async throws -> (
        records: [JSONValue], token: String
    ) {
        var token = token
        var records: [JSONValue] = []
        while true {
            let reply = try await changes(in: destination, since: token)
            try reply.expectZones([
                .including(
                    ["records": .anything, "syncToken": .text, "moreComing": .anything],
                    without: ["serverErrorCode"]
                )
            ])
            let page = reply.zones[0]["records"]?.arrayValue ?? []
            let next = try reply.text("zones", "0", "syncToken")
            records += page
            if reply.zones[0]["moreComing"] != true { return (records, next) }
            // Empty pages may come in between. But an empty page with the same token would be requested forever.
            try reply.require(!page.isEmpty || next != token, "no more to come, or another token")
            token = next
        }
    }
}

// Filters and sorts of queries.
extension JSONValue {
    static func filter(_ comparator: String, _ fieldName: String?, _ value: Field?) -> JSONValue {
        var filter: [String: JSONValue] = ["comparator": .string(comparator)]
        filter["fieldName"] = fieldName.map(JSONValue.string)
        filter["fieldValue"] = value?.json
        return .object(filter)
    }

    static func filter(_ comparator: String, system fieldName: String, _ value: Field) -> JSONValue {
        ["comparator": .string(comparator), "systemFieldName": .string(fieldName), "fieldValue": value.json]
    }

    static func near(_ fieldName: String, _ value: Field, within metres: Double?) -> JSONValue {
        guard case .object(var filter) = filter("NEAR", fieldName, value) else { return .null }
        filter["distance"] = metres.map(JSONValue.double)
        return .object(filter)
    }

    static func sort(_ fieldName: String, ascending: Bool? = nil) -> JSONValue {
        var sort: [String: JSONValue] = ["fieldName": .string(fieldName)]
        sort["ascending"] = ascending.map(JSONValue.bool)
        return .object(sort)
    }
}
