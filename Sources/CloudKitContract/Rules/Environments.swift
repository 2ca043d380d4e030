import CloudKitRuleIDs
import StreamingJSON

/// The environments of a container: development and production.
let environmentRules: [ContractRule] = [
    ContractRule(
        "an API token of one environment is refused in the other",
        [.archive, .inferred],
        requires: [.production]
    ) {
        session in
        guard let production = session.target.production else { return }
        // The token of production in development, then the other way round.
        var request = try session.request("records/lookup", ["records": []], in: .publicDatabase(as: .apiToken))
        request.apiToken = production.apiToken
        try await session.send(request).expectError("AUTHENTICATION_FAILED")
        request.apiToken = nil
        request.path = request.path.inProduction
        try await session.send(request).expectError("AUTHENTICATION_FAILED")
    },
    ContractRule(
        .typeNotDeployed,
        "production takes no record type that was not deployed",
        [.native],
        requires: [.user, .production]
    ) {
        session in
        guard let production = session.target.production else { return }
        // No schema has this type, because the session's random ending is in its name.
        let (name, type) = (session.unique("a"), "Undeployed" + session.ending)
        let creation = Operation.create(name, ["title": "a"], type: type)
        for (database, endpoint) in [("private", "records/modify"), ("public", "records/modify")] {
            let destination = Destination(scope: database, identity: .user)
            var request = try session.request(
                endpoint,
                ["operations": [creation.json], "atomic": false],
                in: destination
            )
            request.path = request.path.inProduction
            request.apiToken = production.apiToken
            request.webAuthToken = production.webAuthToken
            let failure = JSONPattern.failure(
                name,
                "BAD_REQUEST",
                reason: "Cannot create new type '\(type)' in production schema"
            )
            try await session.send(request).expectRecords([failure])
        }
    },
]

extension String {
    /// The path in the environment `production`.
    fileprivate var inProduction: String { replacing("/development/", with: "/production/") }
}
