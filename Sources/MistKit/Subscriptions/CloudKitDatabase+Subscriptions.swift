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
    /// Subscriptions that were made with a server-to-server key belong to the key, and only it sees them.
    ///
    /// - Returns: The subscriptions.
    /// - Throws: ``CloudKitError``, also where the service lists an error in place of a subscription.
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
    /// - Parameter subscriptionIDs: The names, as many as you like; they are sent 200 at a time.
    /// - Returns: One result per name, in their order.
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

    /// Saves a subscription: from now on the service sends a push for each change that matches it.
    ///
    /// ```swift
    /// let query = Query<Article> { Filter(\.isRead == false) }
    /// try await database.save(Subscription("new-articles", to: query, firesOn: [.create]))
    /// // POST /database/1/iCloud.com.example/development/private/subscriptions/modify
    /// // {"operations":[{"operationType":"create","subscription":{"subscriptionID":"new-articles",
    /// //   "subscriptionType":"query","query":{"recordType":"Article",…},"firesOn":["create"]}}]}
    /// ```
    ///
    /// Saving a subscription whose name exists succeeds, so a program may save its subscriptions whenever it starts.
    ///
    /// - Parameter subscription: The changes that cause pushes.
    /// - Returns: The subscription as the service has it.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/exists`` where another subscription of the
    ///   caller is about the same changes: of query subscriptions the service takes one for each record type and set of
    ///   events. It answers the second with an `INTERNAL_ERROR`, which is recognised by its reason.
    ///   ``CloudKitError/Code-swift.struct/invalidArgument`` where the name or the events of a query subscription are
    ///   missing.
    @discardableResult
    public func save(_ subscription: Subscription) async throws -> Subscription {
        try await save([subscription])[0].get()
    }

    /// Saves subscriptions.
    ///
    /// - Parameter subscriptions: The subscriptions, as many as you like; they are sent 200 at a time.
    /// - Returns: One result per subscription, in their order.
    /// - Throws: A ``CloudKitError``: what ``save(_:)-(Subscription)`` throws for arguments; the error of the first
    ///   request, when it fails as a whole.
    public func save(
        _ subscriptions: [Subscription]
    ) async throws -> [Result<Subscription, CloudKitError>] {
        for subscription in subscriptions { try subscription.check() }
        return try await modifySubscriptions(subscriptions.map { SubscriptionOperation(.create, subscription: $0) })
    }

    /// Changes a subscription that exists.
    ///
    /// The service has the operation; what it does beyond replacing the subscription is not known, and Apple's own client never
    /// sends it. ``save(_:)-(Subscription)`` does for most purposes.
    ///
    /// - Parameter subscription: The subscription, changed.
    /// - Returns: The subscription as the service has it.
    /// - Throws: A ``CloudKitError``: ``CloudKitError/Code-swift.struct/notFound`` where the caller has no such
    ///   subscription, and what ``save(_:)-(Subscription)`` throws.
    @discardableResult
    public func update(_ subscription: Subscription) async throws -> Subscription {
        try subscription.check()
        return try await modifySubscriptions([SubscriptionOperation(.update, subscription: subscription)])[0].get()
    }

    /// Deletes a subscription: the service sends no more pushes for its changes.
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
    /// - Parameter subscriptionIDs: The names, as many as you like; they are sent 200 at a time.
    /// - Returns: One result per name, in their order.
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
    static func errorItem(_ subscriptionID: String) -> CloudKitError.Item { .subscription(id: subscriptionID) }

    /// The service has no code of its own for a second subscription to the same changes; this reason was observed.
    static func explain(_ error: inout CloudKitError) {
        guard error.code == .internalError, error.reason == "could not find subscription we just created" else {
            return
        }
        error.code = .exists
        error.message = """
            Another subscription is about the same changes, under another name: the service takes one for each record type \
            and set of events. Fetch the subscriptions and use that one, or delete it first.
            """
    }
}

extension Subscription {
    /// Finds what the service would not take, or would take for something else.
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
