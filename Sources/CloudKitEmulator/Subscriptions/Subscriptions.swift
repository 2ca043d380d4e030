import CloudKitModel
import CloudKitSchema
package import CloudKitWebServices
import GRDB
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension RequestContext {
    /// Lists the caller's subscriptions in a database (`subscriptions/list`), in creation order.
    ///
    /// Subscriptions that were created with a server-to-server key belong to the key (observed live).
    ///
    /// - Throws: An ``EmulatorError``: `AUTHENTICATION_REQUIRED` without a user.
    package func listSubscriptions() throws -> Components.Schemas.ListSubscriptionsResponse {
        let owner = try subscriber()
        let stored = try read { context in try StoredSubscription.all(of: owner, in: context) }
        return Components.Schemas.ListSubscriptionsResponse(subscriptions: stored.map { .success($0.subscription) })
    }

    /// Looks up subscriptions by name (`subscriptions/lookup`).
    ///
    /// - Returns: One result for each name, in order; `NOT_FOUND` where the caller has no such subscription.
    /// - Throws: An ``EmulatorError``: `AUTHENTICATION_REQUIRED` without a user, `BAD_REQUEST` for too many names.
    package func lookupSubscriptions(
        _ request: Components.Schemas.LookupSubscriptionsRequest
    ) throws -> Components.Schemas.LookupSubscriptionsResponse {
        let owner = try subscriber()
        try configuration.limits.check(request.subscriptions.count, of: "subscriptions")
        let results = try read { context in
            try request.subscriptions.map(\.subscriptionID).map { id in
                try SubscriptionResult(id) {
                    guard let stored = try StoredSubscription.named(id, of: owner, in: context) else {
                        throw EmulatorError.subscriptionNotFound
                    }
                    return stored.subscription
                }
            }
        }
        return Components.Schemas.LookupSubscriptionsResponse(subscriptions: results)
    }

    /// Creates, changes and deletes subscriptions (`subscriptions/modify`). Every operation is tried, in order.
    ///
    /// A `create` of a name that exists succeeds: the new content replaces the old. A second query subscription with
    /// the same content under another name fails with the observed `INTERNAL_ERROR`, `could not find subscription we
    /// just created`. The result of a deletion has only the name (observed live).
    ///
    /// - Parameter request: At most 200 operations.
    /// - Returns: One result for each operation, in order.
    /// - Throws: An ``EmulatorError``: `AUTHENTICATION_REQUIRED` without a user, `BAD_REQUEST` for too many operations.
    package func modifySubscriptions(
        _ request: Components.Schemas.ModifySubscriptionsRequest
    ) throws -> Components.Schemas.ModifySubscriptionsResponse {
        let owner = try subscriber()
        try configuration.limits.check(request.operations.count, of: "operations")
        let results = try write { context in
            try request.operations.map { operation in
                try SubscriptionResult(operation.subscription.subscriptionID) {
                    try context.apply(operation, of: owner)
                }
            }
        }
        return Components.Schemas.ModifySubscriptionsResponse(subscriptions: results)
    }

    /// The owner of the caller's subscriptions and device tokens.
    func subscriber() throws(EmulatorError) -> String {
        guard let owner = user else { throw .authenticationRequired }
        return owner
    }
}

extension DatabaseContext {
    fileprivate func apply(
        _ operation: SubscriptionOperation,
        of owner: String
    ) throws -> Subscription {
        let request = operation.subscription
        switch operation.operationType {
        case .create, .update:
            let name = request.subscriptionID ?? identifiers.uuid()
            guard !name.isEmpty, name.utf8.count <= configuration.limits.nameLength, !name.hasControlCharacters
            else {
                throw EmulatorError.badRequest("'\(name)' is not a valid subscription name")
            }
            let existing = try StoredSubscription.named(name, of: owner, in: self)
            if operation.operationType == .update, existing == nil { throw EmulatorError.subscriptionNotFound }
            let subscription = try checked(request, named: name)
            let twin = try StoredSubscription.all(of: owner, in: self).contains { other in
                other.name != name && isDuplicate(subscription, of: other.subscription)
            }
            if twin {
                // Observed live.
                throw EmulatorError(.internalError, "could not find subscription we just created")
            }
            try StoredSubscription.save(subscription, named: name, of: owner, in: self)
            return subscription
        case .delete:
            guard let name = request.subscriptionID,
                let stored = try StoredSubscription.named(name, of: owner, in: self)
            else { throw EmulatorError.subscriptionNotFound }
            try StoredSubscription.delete(stored.id, db)
            return Subscription(subscriptionID: name)
        default:
            throw EmulatorError.badRequest("unknown operation '\(operation.operationType)'")
        }
    }

    /// The subscription with its name and its implied type, if it is valid.
    private func checked(
        _ request: Subscription,
        named name: String
    ) throws -> Subscription {
        var subscription = request
        subscription.subscriptionID = name
        let implied: Subscription.SubscriptionType? =
            request.query != nil ? .query : request.zoneID != nil ? .zone : nil
        subscription.subscriptionType = request.subscriptionType ?? implied
        if let zoneID = request.zoneID { _ = try zone(zoneID) }
        switch subscription.subscriptionType {
        case .query?:
            guard let query = subscription.query else {
                throw EmulatorError.badRequest("a query subscription needs a query")
            }
            let events = Set(subscription.firesOn ?? [])
            guard !events.isEmpty, events.isSubset(of: [.create, .update, .delete]) else {
                throw EmulatorError.badRequest("a query subscription needs firesOn, of create, update and delete")
            }
            guard query.recordType.isSchemaIdentifier else {
                throw EmulatorError.badRequest("'\(query.recordType)' is not a valid record type name")
            }
            // A type that was never saved has no fields to check the filters with. They are checked when there is a
            // record.
            if let type = try schema()[query.recordType] {
                for filter in query.filters {
                    _ = try QueryCondition(filter, of: type, configuration: configuration)
                }
            }
        case .zone?:
            _ = try zone(request.zoneID)
        case .database?:
            guard configuration.unsettled.servesDatabaseSubscriptions, address.scope != .public else {
                throw EmulatorError.badRequest("database subscriptions are not for this database")
            }
        default:
            throw EmulatorError.badRequest("a subscription is of the type query, zone or database")
        }
        return subscription
    }

    /// Whether two query subscriptions count as the same.
    private func isDuplicate(_ subscription: Subscription, of other: Subscription) -> Bool {
        guard
            let query = subscription.query, let otherQuery = other.query,
            query.recordType == otherQuery.recordType,
            Set(subscription.firesOn ?? []) == Set(other.firesOn ?? [])
        else { return false }
        switch configuration.unsettled.duplicateSubscriptions {
        case .sameTypeAndEvents: return true
        case .sameQueryAndEvents:
            return query.filters == otherQuery.filters && subscription.zoneID == other.zoneID
                && subscription.zoneWide == other.zoneWide
        }
    }
}

extension EmulatorError {
    fileprivate static let subscriptionNotFound = EmulatorError(.notFound, "Subscription not found")
}

/// A row of the table `subscription`.
struct StoredSubscription {
    let id: Int64
    let owner: String
    let name: String
    let subscription: Subscription

    /// Reads a row whose first columns are id, owner, name and body.
    init(_ row: Row) throws {
        id = row[0]
        owner = row[1]
        name = row[2]
        subscription = try JSONReader.read(Subscription.self, from: Array(row[3] as Data))
    }

    private static let columns = "SELECT id, owner, name, body FROM subscription"

    static func all(of owner: String, in context: DatabaseContext) throws -> [StoredSubscription] {
        try context.db.rows(columns + " WHERE database = ? AND owner = ? ORDER BY id", [context.databaseID, owner]).map(
            StoredSubscription.init
        )
    }

    static func named(
        _ name: String,
        of owner: String,
        in context: DatabaseContext
    ) throws -> StoredSubscription? {
        try context.db.row(
            columns + " WHERE database = ? AND owner = ? AND name = ?",
            [context.databaseID, owner, name]
        ).map(StoredSubscription.init)
    }

    static func save(
        _ subscription: Subscription,
        named name: String,
        of owner: String,
        in context: DatabaseContext
    ) throws {
        try context.db.run(
            """
            INSERT INTO subscription (database, owner, name, body) VALUES (?, ?, ?, ?)
            ON CONFLICT (database, owner, name) DO UPDATE SET body = excluded.body
            """,
            [context.databaseID, owner, name, Data(try JSONWriter.bytes(of: subscription))]
        )
    }

    static func delete(_ id: Int64, _ db: Database) throws {
        try db.run("DELETE FROM subscription WHERE id = ?", [id])
    }
}
