import CloudKitWebServices
import OpenAPISwiftRuntime

extension CloudKitDatabase {
    /// Fetches the caller's subscriptions in the database.
    ///
    /// ```swift
    /// let subscriptions = try await service.privateDatabase.fetchSubscriptions()
    /// // GET /database/1/iCloud.com.example/development/private/subscriptions/list
    /// ```
    ///
    /// Subscriptions that were saved with a server-to-server key belong to the key, and only this key can fetch them.
    ///
    /// - Returns: The subscriptions.
    /// - Throws: A ``CloudKitError``, also where the service lists an error instead of a subscription.
    public func fetchSubscriptions() async throws -> [Subscription] {
        let reply = try await service.reply(to: Operations.ListSubscriptions.id) { client in
            let response = try await client.listSubscriptions(path: path).ok
            return (try response.body.json.subscriptions ?? [], response.headers.xAppleRequestUUID)
        }
        return try reply.body.map { try $0.result(requested: nil, in: reply.origin).get() }
    }

    /// Fetches one subscription.
    ///
    /// - Parameter subscriptionID: The subscription's name.
    /// - Returns: The subscription.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` where the caller has no such
    ///   subscription.
    public func fetchSubscription(_ subscriptionID: String) async throws -> Subscription {
        try await fetchSubscriptions([subscriptionID])[0].get()
    }

    /// Fetches subscriptions by name.
    ///
    /// ```swift
    /// let results = try await database.fetchSubscriptions(["new-articles", "notes"])
    /// // POST /database/1/iCloud.com.example/development/private/subscriptions/lookup
    /// // {"subscriptions":[{"subscriptionID":"new-articles"},{"subscriptionID":"notes"}]}
    /// ```
    ///
    /// - Parameter subscriptionIDs: The names, any number; a request has at most 200 of them.
    /// - Returns: One result for each name, in the order of the names.
    /// - Throws: A ``CloudKitError``: the error of the first request, when it fails as a whole.
    public func fetchSubscriptions(
        _ subscriptionIDs: [String]
    ) async throws -> [Result<Subscription, CloudKitError>] {
        try await service.inBatches(of: subscriptionIDs, named: \.self) { (batch, call) async throws(CloudKitError) in
            try await call.reply(to: Operations.LookupSubscriptions.id) { client in
                let response = try await client.lookupSubscriptions(
                    path: path,
                    body: .json(.init(subscriptions: batch.map { .init(subscriptionID: $0) }))
                ).ok
                return (try response.body.json.subscriptions ?? [], response.headers.xAppleRequestUUID)
            }
        }
    }

    /// Saves a subscription. From then on the service sends a push for each change that matches it.
    ///
    /// ```swift
    /// let query = Query<Article> { Filter(\.isRead == false) }
    /// try await database.save(Subscription("new-articles", to: query, firesOn: [.create]))
    /// // POST /database/1/iCloud.com.example/development/private/subscriptions/modify
    /// // {"operations":[{"operationType":"create","subscription":{"subscriptionID":"new-articles",
    /// //   "subscriptionType":"query","query":{"recordType":"Article",…},"firesOn":["create"]}}]}
    /// ```
    ///
    /// Saving a subscription with an existing name succeeds, so a program can save its subscriptions at every start.
    ///
    /// - Parameter subscription: The changes that cause pushes.
    /// - Returns: The subscription as the service has it.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/exists`` where another subscription of the
    ///   caller is about the same changes: the service accepts one query subscription for each record type and set of
    ///   events. It answers the second one with an `INTERNAL_ERROR`, which the client recognises by its reason.
    ///   ``CloudKitError/Code-swift.struct/invalidArgument`` where the name or the events of a query subscription are
    ///   missing.
    @discardableResult
    public func save(_ subscription: Subscription) async throws -> Subscription {
        try await save([subscription])[0].get()
    }

    /// Saves subscriptions.
    ///
    /// - Parameter subscriptions: The subscriptions, any number; a request has at most 200 of them.
    /// - Returns: One result for each subscription, in the order of `subscriptions`.
    /// - Throws: A ``CloudKitError``: the `invalidArgument` errors of ``save(_:)-(Subscription)``; the error of the
    ///   first request, when it fails as a whole.
    public func save(
        _ subscriptions: [Subscription]
    ) async throws -> [Result<Subscription, CloudKitError>] {
        for subscription in subscriptions { try subscription.check() }
        return try await modifySubscriptions(subscriptions.map { SubscriptionOperation(.create, subscription: $0) })
    }

    /// Changes a subscription that exists.
    ///
    /// The service has this operation, but Apple's own client never sends it, and it is not known whether it does more
    /// than replace the subscription. For most purposes ``save(_:)-(Subscription)`` is enough.
    ///
    /// - Parameter subscription: The subscription with its changes.
    /// - Returns: The subscription as the service has it.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` where the caller has no such
    ///   subscription, and the errors of ``save(_:)-(Subscription)``.
    @discardableResult
    public func update(_ subscription: Subscription) async throws -> Subscription {
        try subscription.check()
        return try await modifySubscriptions([SubscriptionOperation(.update, subscription: subscription)])[0].get()
    }

    /// Deletes a subscription. The service sends no more pushes for its changes.
    ///
    /// - Parameter subscriptionID: The subscription's name.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` where the caller has no such
    ///   subscription.
    public func deleteSubscription(_ subscriptionID: String) async throws {
        _ = try await deleteSubscriptions([subscriptionID])[0].get()
    }

    /// Deletes subscriptions.
    ///
    /// ```swift
    /// let results = try await database.deleteSubscriptions(["new-articles"])
    /// // {"operations":[{"operationType":"delete","subscription":{"subscriptionID":"new-articles"}}]}
    /// ```
    ///
    /// - Parameter subscriptionIDs: The names, any number; a request has at most 200 of them.
    /// - Returns: One result for each name, in the order of the names.
    /// - Throws: A ``CloudKitError``: the error of the first request, when it fails as a whole.
    public func deleteSubscriptions(
        _ subscriptionIDs: [String]
    ) async throws -> [Result<Void, CloudKitError>] {
        try await modifySubscriptions(
            subscriptionIDs.map { SubscriptionOperation(.delete, subscription: Subscription(subscriptionID: $0)) }
        ).map { $0.map { _ in } }
    }

    private func modifySubscriptions(
        _ operations: [SubscriptionOperation]
    ) async throws(CloudKitError) -> [Result<Subscription, CloudKitError>] {
        try await service.inBatches(
            of: operations,
            named: \.subscription.subscriptionID
        ) { (batch, call) async throws(CloudKitError) in
            try await call.reply(to: Operations.ModifySubscriptions.id) { client in
                let response = try await client.modifySubscriptions(
                    path: path,
                    body: .json(.init(operations: batch))
                ).ok
                return (try response.body.json.subscriptions ?? [], response.headers.xAppleRequestUUID)
            }
        }
    }
}

extension Subscription: NamedBatchItem {
    package static func errorItem(_ subscriptionID: String) -> CloudKitError.Item { .subscription(id: subscriptionID) }

    /// The service has no separate code for a second subscription to the same changes; this reason was observed.
    package static func explain(_ error: inout CloudKitError) {
        guard error.code == .internalError, error.reason == "could not find subscription we just created" else {
            return
        }
        error.code = .exists
        error.message = """
            Another subscription, with another ID, is about the same changes: the service takes one for each record type \
            and set of events. Fetch the subscriptions and use that one, or delete it first.
            """
    }
}

extension Subscription {
    /// Refuses a subscription that the service would refuse or misunderstand.
    fileprivate func check() throws(CloudKitError) {
        guard let subscriptionID, !subscriptionID.isEmpty else {
            throw .invalidArgument("A subscription needs a name of your choice, its subscriptionID.")
        }
        let item = CloudKitError.Item.subscription(id: subscriptionID)
        guard subscriptionType == .query else { return }
        if query == nil {
            throw .invalidArgument("A query subscription needs a query.", item: item)
        }
        if firesOn?.isEmpty ?? true {
            throw .invalidArgument(
                "A query subscription needs firesOn: which of create, update and delete it is about.",
                item: item
            )
        }
    }
}
