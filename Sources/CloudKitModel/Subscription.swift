extension Subscription {
    /// Makes a subscription to the changes of a zone.
    ///
    /// ```swift
    /// Subscription(subscriptionID: "changedArtwork", zoneID: ZoneID(zoneName: "publicArtwork"))
    /// // {"subscriptionID":"changedArtwork","subscriptionType":"zone","zoneID":{"zoneName":"publicArtwork"}}
    /// ```
    public init(subscriptionID: String, zoneID: ZoneID, notificationInfo: NotificationInfo? = nil) {
        self.init(
            subscriptionID: subscriptionID,
            subscriptionType: .zone,
            zoneID: zoneID,
            notificationInfo: notificationInfo
        )
    }

    /// Makes a subscription to the records that a query finds.
    public init(
        subscriptionID: String,
        query: RecordQuery,
        firesOn: [Event],
        zoneID: ZoneID? = nil,
        notificationInfo: NotificationInfo? = nil
    ) {
        self.init(
            subscriptionID: subscriptionID,
            subscriptionType: .query,
            query: query,
            zoneID: zoneID,
            firesOn: firesOn,
            notificationInfo: notificationInfo
        )
    }
}

extension SubscriptionOperation {
    /// Makes an operation.
    public init(_ operationType: OperationType, subscription: Subscription) {
        self.init(operationType: operationType, subscription: subscription)
    }
}
