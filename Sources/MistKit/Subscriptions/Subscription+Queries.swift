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
    /// Filters tell which records; the sorts and the limit of the query have no meaning here and are not sent.
    ///
    /// - Parameters:
    ///   - subscriptionID: A name of your choice. Saving another of the same name takes this one's place.
    ///   - query: Which records, typed or not.
    ///   - events: Which changes to them.
    ///   - zone: The zone to watch; `nil` leaves it to `zoneWide`.
    ///   - zoneWide: Whether to watch all zones. Apple's page says of `nil` both that it means all zones and that it means the
    ///     default zone; in a private database, say what you want.
    ///   - firesOnce: Whether the subscription ends with its first push.
    ///   - notificationInfo: What the push shows and brings along.
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
    ///   - notificationInfo: What the push shows.
    public init(_ subscriptionID: String, toZone zone: ZoneID, notificationInfo: NotificationInfo? = nil) {
        self.init(subscriptionID: subscriptionID, zoneID: zone, notificationInfo: notificationInfo)
    }

    /// Makes a subscription to all changes in the zones of a private or shared database.
    ///
    /// The type is among the constants of Apple's CloudKit JS, and on none of Apple's pages: whether the service takes it over
    /// web services is not known.
    ///
    /// - Parameters:
    ///   - subscriptionID: A name of your choice.
    ///   - notificationInfo: What the push shows.
    /// - Returns: The subscription, to be saved in the database that it is about.
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
