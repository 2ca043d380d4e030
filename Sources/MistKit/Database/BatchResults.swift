package import CloudKitModel
import OpenAPISwiftRuntime
import StreamingJSON

extension CloudKitService {
    /// Sends items in as many requests as needed, and gives one result for each, in their order.
    func inBatches<Item: Sendable, ItemResult: BatchItemResult>(
        of items: [Item],
        named id: @escaping @Sendable (Item) -> ItemResult.ID?,
        lostReplies: LostReplies<Item, ItemResult.Value>? = nil,
        send: @escaping @Sendable ([Item], CallContext) async throws(CloudKitError) -> Reply<[ItemResult]>
    ) async throws(CloudKitError) -> [Result<ItemResult.Value, CloudKitError>] {
        try await BatchSender<Item, ItemResult.Value>(
            items: items,
            service: self,
            lostReplies: lostReplies,
            about: { error, item in error.about(id(item).map(ItemResult.errorItem)) },
            send: { (batch, call) async throws(CloudKitError) in
                try await send(batch, call).results(for: batch.map(id))
            }
        ).results()
    }
}

/// The body of a response, and the request that the errors of its items name.
package struct Reply<Body> {
    var body: Body
    var origin: ResponseOrigin

    package init(_ body: Body, operation: String, requestUUID: String? = nil) {
        self.body = body
        origin = ResponseOrigin(operation: operation, requestUUID: requestUUID)
    }

    init(_ body: Body, from origin: ResponseOrigin) {
        self.body = body
        self.origin = origin
    }
}

extension Reply: Sendable where Body: Sendable {}

extension Reply where Body == BufferedBody {
    /// Reads the body.
    ///
    /// - Parameter type: The type to read it as.
    /// - Returns: The body.
    /// - Throws: An error of code `decoding` if the body is not a value of this type.
    func read<Value: JSONReadable>(_ type: Value.Type) throws(CloudKitError) -> Value {
        do {
            return try body.json(type)
        } catch {
            throw CloudKitError(error, operation: origin.operation)
        }
    }
}

/// Which request an item's error is from.
package struct ResponseOrigin: Sendable {
    var operation: String
    var requestUUID: String?

    package init(operation: String, requestUUID: String? = nil) {
        self.operation = operation
        self.requestUUID = requestUUID
    }
}

/// One item of a response's list: the item that was requested, typed or not, or its error.
package protocol BatchItemResult: SendableMetatype {
    associatedtype ID
    associatedtype Value: Sendable

    /// The item's name, if the service gave it.
    var itemID: ID? { get }

    /// The item, or its error.
    func result(requested id: ID?, in origin: ResponseOrigin) -> Result<Value, CloudKitError>

    /// Whether two names identify the same item.
    static func isSame(_ id: ID, _ other: ID) -> Bool

    /// How errors name an item.
    static func errorItem(_ id: ID) -> CloudKitError.Item
}

/// An item that the generated client reads in batches.
package protocol NamedBatchItem: BatchItem {
    /// Whether two names identify the same item.
    static func isSame(_ id: ItemID, _ other: ItemID) -> Bool

    /// How errors name an item.
    static func errorItem(_ id: ItemID) -> CloudKitError.Item

    /// Replaces the code or the message of an item's error where the client knows more than the service says.
    static func explain(_ error: inout CloudKitError)

    /// The item with the name that it was requested by, where the service left that out.
    func named(_ id: ItemID?) -> Self
}

extension NamedBatchItem {
    package static func isSame(_ id: ItemID, _ other: ItemID) -> Bool { id == other }
    package static func explain(_ error: inout CloudKitError) {}
    package func named(_ id: ItemID?) -> Self { self }
}

extension Record: NamedBatchItem {
    package static func errorItem(_ recordName: String) -> CloudKitError.Item { .record(name: recordName) }
}

extension ItemResult: BatchItemResult where Item: NamedBatchItem {
    package func result(requested id: Item.ItemID?, in origin: ResponseOrigin) -> Result<Item, CloudKitError> {
        switch self {
        case .success(let item): .success(item.named(id))
        case .failure(let error): .failure(CloudKitError(error, requested: id).from(origin))
        }
    }

    package static func isSame(_ id: Item.ItemID, _ other: Item.ItemID) -> Bool { Item.isSame(id, other) }
    package static func errorItem(_ id: Item.ItemID) -> CloudKitError.Item { Item.errorItem(id) }
}

extension Reply {
    /// Gives each item of the request its result.
    ///
    /// The service keeps the order of the request. If a response holds too few results or other items, results are
    /// found by their names, and an item without a result fails.
    ///
    /// - Parameter ids: The names of the items, in the order of the request; `nil` for an item without a name.
    /// - Returns: One result for each item, in their order.
    package func results<ItemResult: BatchItemResult>(
        for ids: [ItemResult.ID?]
    ) -> [Result<ItemResult.Value, CloudKitError>] where Body == [ItemResult] {
        let results = body
        let inOrder =
            results.count == ids.count
            && zip(results, ids).allSatisfy { result, id in
                guard let id, let found = result.itemID else { return true }
                return ItemResult.isSame(found, id)
            }
        if inOrder {
            return zip(results, ids).map { $0.result(requested: $1, in: origin) }
        }
        return ids.map { id in
            let result = id.flatMap { id in
                results.first { result in result.itemID.map { ItemResult.isSame($0, id) } ?? false }
            }
            if let result { return result.result(requested: id, in: origin) }
            return .failure(
                .missingResult(count: results.count, of: ids.count).about(id.map(ItemResult.errorItem)).from(origin)
            )
        }
    }
}

extension CloudKitError {
    /// The error of a failed item of a response.
    init<Item: NamedBatchItem>(_ error: ItemError<Item>, requested id: Item.ItemID? = nil) {
        self.init(error.response, item: (error.id ?? id).map(Item.errorItem))
        Item.explain(&self)
    }

    fileprivate static func missingResult(count: Int, of expected: Int) -> CloudKitError {
        CloudKitError(
            code: .unexpectedResponse,
            message: """
                The response holds no result for this item (\(count) results for \(expected) items). A write may have been \
                done or not; fetch the item.
                """
        )
    }

    /// The same error with the operation and the UUID of its request.
    func from(_ origin: ResponseOrigin) -> CloudKitError {
        var error = self
        error.operation = origin.operation
        error.requestUUID = requestUUID ?? origin.requestUUID
        return error
    }

    /// The same error for one item of the request.
    func about(_ item: CloudKitError.Item?) -> CloudKitError {
        var error = self
        error.item = item ?? error.item
        return error
    }

    /// The same error for one record of the request.
    func about(_ recordName: String?) -> CloudKitError {
        about(recordName.map(Record.errorItem))
    }
}
