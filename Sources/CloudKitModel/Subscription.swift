public import StreamingJSON

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

/// One item of a batch of subscriptions: the subscription, or its error.
public enum SubscriptionResult: Hashable, Sendable {
    /// The subscription.
    case subscription(Subscription)
    /// The item's error; it says nothing of the other items of the batch.
    case failure(SubscriptionError)

    /// The subscription; throws the item's error, a ``SubscriptionError``.
    public func get() throws -> Subscription {
        switch self {
        case .subscription(let subscription): return subscription
        case .failure(let error): throw error
        }
    }
}

extension SubscriptionResult: JSONBackedCodable {
    /// Reads an item; it is an error when it has `serverErrorCode` or `extensionErrorCode`, as CloudKit JS decides.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self =
            try reader.isAtErrorDictionary()
            ? .failure(SubscriptionError(json: &reader)) : .subscription(Subscription(json: &reader))
    }

    /// Writes the subscription or the error dictionary.
    public func write(json writer: inout JSONWriter) {
        switch self {
        case .subscription(let subscription): writer.write(subscription)
        case .failure(let error): writer.write(error)
        }
    }
}
