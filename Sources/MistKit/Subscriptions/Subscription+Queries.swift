extension Subscription {
    /// Makes a subscription to the records that a query finds.
    ///
    /// ```swift
    /// let subscription = Subscription(
    ///     "new-articles",
    ///     to: Query<Article> { Filter(\.feed == feed) },
    ///     firesOn: [.create, .update],
    ///     notificationInfo: NotificationInfo(alertBody: "New article", additionalFields: ["title"])
    /// )
    /// try await database.save(subscription)
    /// ```
    ///
    /// The filters of the query select the records. Its sorts and its limit have no meaning here and are not sent.
    ///
    /// - Parameters:
    ///   - subscriptionID: A name of your choice. Another subscription with the same name replaces this one.
    ///   - query: The query for the records, typed or not.
    ///   - events: The kinds of changes that cause a push; at least one.
    ///   - zone: The zone to watch; with `nil`, `zoneWide` decides.
    ///   - zoneWide: Whether to watch all zones. Apple's page contradicts itself about `nil`: it means all zones, or
    ///     the default zone. So pass a value in a private database.
    ///   - firesOnce: Whether the subscription ends with its first push.
    ///   - notificationInfo: The content of the push: what it shows, and the fields that it brings.
    public init<Model>(
        _ subscriptionID: String,
        to query: Query<Model>,
        firesOn events: [Event],
        inZone zone: ZoneID? = nil,
        zoneWide: Bool? = nil,
        firesOnce: Bool? = nil,
        notificationInfo: NotificationInfo? = nil
    ) {
        var recordQuery = query.recordQuery
        recordQuery.sorts = []
        self.init(
            subscriptionID: subscriptionID,
            subscriptionType: .query,
            query: recordQuery,
            zoneID: zone,
            firesOn: events,
            firesOnce: firesOnce,
            zoneWide: zoneWide,
            notificationInfo: notificationInfo
        )
    }

    /// Makes a subscription to all changes in a zone: one push for each request that changes it.
    ///
    /// - Parameters:
    ///   - subscriptionID: A name of your choice.
    ///   - zone: The zone.
    ///   - notificationInfo: The content of the push, such as its text.
    public init(_ subscriptionID: String, toZone zone: ZoneID, notificationInfo: NotificationInfo? = nil) {
        self.init(subscriptionID: subscriptionID, zoneID: zone, notificationInfo: notificationInfo)
    }

    /// Makes a subscription to all changes in the zones of a private or shared database.
    ///
    /// This type is a constant of Apple's CloudKit JS, but no page of Apple mentions it. It is not known whether the
    /// service accepts it over web services.
    ///
    /// - Parameters:
    ///   - subscriptionID: A name of your choice.
    ///   - notificationInfo: The content of the push, such as its text.
    /// - Returns: The subscription. Save it in the database that it is about.
    public static func toDatabase(
        _ subscriptionID: String,
        notificationInfo: NotificationInfo? = nil
    ) -> Subscription {
        Subscription(
            subscriptionID: subscriptionID,
            subscriptionType: .database,
            notificationInfo: notificationInfo
        )
    }
}
