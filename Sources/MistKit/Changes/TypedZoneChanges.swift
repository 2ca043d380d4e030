/// A page of changes of a zone, with records of your own types.
public struct TypedZoneChanges<Item: Sendable>: ChangePage {
    /// The records that were created or changed, in their current state.
    public var changedRecords: [Item] = []

    /// The records that were deleted: their names and change tags. The service does not say their types.
    public var deletedRecords: [Record] = []

    /// The records of types that were not requested. The service was observed to send some.
    public var otherRecords: [Record] = []

    /// The errors of records that the service could not return, and of records whose fields do not fit their type
    /// (``CloudKitError/Code-swift.struct/decoding``).
    public var failures: [CloudKitError] = []

    /// Where the next page begins. Store it together with the results of this page.
    public var token: ZoneChangeToken

    /// Whether the service has more changes now.
    public var moreComing: Bool

    /// Whether the newest changes come first.
    public var isNewestFirst: Bool

    /// Whether the page has a token and nothing else.
    public var isEmpty: Bool {
        changedRecords.isEmpty && deletedRecords.isEmpty && otherRecords.isEmpty && failures.isEmpty
    }

    init(_ changes: ZoneChanges, _ types: [RecordReading<Item>]) {
        token = changes.token
        moreComing = changes.moreComing
        isNewestFirst = changes.isNewestFirst
        for result in changes.results {
            switch result {
            case .success(let record): add(record, types)
            case .failure(let error): failures.append(error)
            }
        }
    }

    private mutating func add(_ record: Record, _ types: [RecordReading<Item>]) {
        if record.isDeleted { return deletedRecords.append(record) }
        guard let type = types.first(where: { $0.recordType == record.recordType }) else {
            return otherRecords.append(record)
        }
        switch type.read(record) {
        case .success(let item): changedRecords.append(item)
        case .failure(let error): failures.append(error)
        }
    }
}

/// How the records of one type are read in a feed of several types.
///
/// ```swift
/// enum Entry {
///     case memo(StoredRecord<Memo>)
///     case folder(StoredRecord<Folder>)
/// }
/// let types: [RecordReading<Entry>] = [.records(of: Memo.self, as: Entry.memo), .records(of: Folder.self, as: Entry.folder)]
/// ```
public struct RecordReading<Item: Sendable>: Sendable {
    let recordType: String
    let read: @Sendable (Record) -> Result<Item, CloudKitError>

    /// Reads the records of a type, and makes a value of the common type from each record.
    ///
    /// - Parameters:
    ///   - model: The type.
    ///   - make: Makes a value from a record, such as a case of an enumeration.
    /// - Returns: The reading.
    public static func records<Model: CloudKitRecord>(
        of model: Model.Type,
        as make: @escaping @Sendable (StoredRecord<Model>) -> Item
    ) -> RecordReading {
        RecordReading(recordType: Model.recordType) { StoredRecord.read($0).map(make) }
    }
}

extension CloudKitDatabase {
    /// Follows the changes to the records of one type in a custom zone.
    ///
    /// ```swift
    /// for try await page in database.changes(to: Memo.self, inZone: notes, since: token) {
    ///     for memo in page.changedRecords { store(memo.model, as: memo.recordName) }
    ///     for memo in page.deletedRecords { remove(memo.recordName) }
    ///     token = page.token
    /// }
    /// // {"zones":[{"zoneID":{"zoneName":"Notes"},"syncToken":"AQAAAW...","desiredRecordTypes":["Memo"]}]}
    /// ```
    ///
    /// A record whose fields do not fit the type is among the page's ``TypedZoneChanges/failures``, which names record
    /// and field. The token belongs to the zone and does not know the type: do not continue with it for another type,
    /// whose earlier changes would be missing.
    ///
    /// - Parameters:
    ///   - model: The type of the records.
    ///   - zone: The zone. In the shared database, its identifier needs the owner's name.
    ///   - token: Where to continue; `nil` for the whole history.
    ///   - desiredKeys: The fields to fetch; all when `nil`. ``CloudKitRecord/desiredKeys`` are those of the type.
    ///   - newestFirst: Whether the newest changes come first (`reverse`).
    ///   - pageSize: The most records in a page, from 1. The service returns at most 200, and 200 when this is `nil`.
    /// - Returns: The pages, not fetched yet. Their errors are those of
    ///   ``changes(inZone:since:desiredKeys:desiredRecordTypes:newestFirst:pageSize:)``.
    public func changes<Model: CloudKitRecord>(
        to model: Model.Type,
        inZone zone: ZoneID,
        since token: ZoneChangeToken? = nil,
        desiredKeys: [String]? = nil,
        newestFirst: Bool = false,
        pageSize: Int? = nil
    ) -> ChangePages<TypedZoneChanges<StoredRecord<Model>>> {
        changes(
            to: [RecordReading<StoredRecord<Model>>.records(of: model) { $0 }],
            inZone: zone,
            since: token,
            desiredKeys: desiredKeys,
            newestFirst: newestFirst,
            pageSize: pageSize
        )
    }

    /// Follows the changes to the records of several types in a custom zone.
    ///
    /// ```swift
    /// enum Entry {
    ///     case memo(StoredRecord<Memo>)
    ///     case folder(StoredRecord<Folder>)
    /// }
    /// let entries = database.changes(
    ///     to: [.records(of: Memo.self, as: Entry.memo), .records(of: Folder.self, as: Entry.folder)],
    ///     inZone: notes,
    ///     since: token
    /// )
    /// for try await page in entries {
    ///     for entry in page.changedRecords {
    ///         switch entry {
    ///         case .memo(let memo): store(memo)
    ///         case .folder(let folder): store(folder)
    ///         }
    ///     }
    ///     token = page.token
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - types: The types, each with the closure that makes a value from a record.
    ///   - zone: The zone. In the shared database, its identifier needs the owner's name.
    ///   - token: Where to continue; `nil` for the whole history.
    ///   - desiredKeys: The fields to fetch; all when `nil`.
    ///   - newestFirst: Whether the newest changes come first (`reverse`).
    ///   - pageSize: The most records in a page, from 1. The service returns at most 200, and 200 when this is `nil`.
    /// - Returns: The pages, not fetched yet. Their errors are those of
    ///   ``changes(inZone:since:desiredKeys:desiredRecordTypes:newestFirst:pageSize:)``.
    public func changes<Item: Sendable>(
        to types: [RecordReading<Item>],
        inZone zone: ZoneID,
        since token: ZoneChangeToken? = nil,
        desiredKeys: [String]? = nil,
        newestFirst: Bool = false,
        pageSize: Int? = nil
    ) -> ChangePages<TypedZoneChanges<Item>> {
        let options = ZoneChangesOptions(
            desiredKeys: desiredKeys,
            desiredRecordTypes: types.map(\.recordType),
            newestFirst: newestFirst,
            pageSize: pageSize
        )
        return ChangePages(operation: ZoneChangesOptions.operation, startToken: token) {
            (token) async throws(CloudKitError) in
            TypedZoneChanges(try await requestZoneChanges([(zone, token)], options)[0].get(), types)
        }
    }
}
