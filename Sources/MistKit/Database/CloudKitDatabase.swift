import CloudKitWebServices

/// One of a container's databases.
///
/// ```swift
/// let database = service.publicDatabase
/// var note = try await database.create(Record(recordType: "Note", fields: ["title": "Hello"]))
/// note["title"] = "Hello, world"
/// try await database.update(&note)
/// try await database.delete(note)
/// ```
///
/// ## One and many
///
/// A call about one record throws when the record fails. A call about many returns one result per record, in the order
/// of the request; it throws only when nothing at all was done. Many means any number: the client sends more than 200
/// records, the limit of the service, in several requests; see
/// ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)``.
///
/// ## Change tags
///
/// A record that was fetched carries a change tag. `update`, `replace` and `delete` send it, and the service refuses them
/// with ``CloudKitError/Code-swift.struct/conflict`` when another client changed the record meanwhile. The forms with
/// `force` in their names do not compare it, and overwrite what others wrote.
///
/// Each change gives the record a new change tag. `update(&record)` puts it into the record.
///
/// ## Zones
///
/// Where a call takes a zone, `nil` means the record's own zone (`zoneID`), or else the default zone.
///
/// ## Typed records
///
/// The calls that write records take a `Record` or a ``StoredRecord`` of your own type; see ``WritableRecord`` and
/// ``CloudKitRecord``.
///
/// ## Topics
///
/// ### Finding records
/// - ``records(matching:inZone:zoneWide:desiredKeys:pageSize:startingAt:)-(Query<Model>,_,_,_,_,_)``
/// - ``records(matching:inZone:zoneWide:desiredKeys:pageSize:startingAt:)-(Query<Record>,_,_,_,_,_)``
/// - ``count(matching:inZone:zoneWide:)``
/// - ``Query``
///
/// ### Fetching records by name
/// - ``fetch(_:named:inZone:desiredKeys:)-(_,String,_,_)``
/// - ``fetch(_:named:inZone:desiredKeys:)-(_,[String],_,_)``
/// - ``fetch(_:desiredKeys:)``
/// - ``fetch(_:inZone:desiredKeys:)-(String,_,_)``
/// - ``fetch(_:inZone:desiredKeys:)-([String],_,_)``
///
/// ### Saving one record
/// - ``save(_:named:inZone:)``
/// - ``save(_:inZone:)->()``
/// - ``save(_:inZone:)->R``
/// - ``create(_:inZone:)``
/// - ``upsert(_:named:inZone:)``
/// - ``update(_:inZone:)->()``
/// - ``update(_:inZone:)->R``
/// - ``update(_:inZone:attempts:resolvingConflictsWith:)->()``
/// - ``update(_:inZone:attempts:resolvingConflictsWith:)->StoredRecord<Model>``
/// - ``RecordConflict``
/// - ``replace(_:inZone:)->()``
/// - ``replace(_:inZone:)->R``
/// - ``forceUpdate(_:inZone:)``
/// - ``forceReplace(_:inZone:)``
/// - ``WritableRecord``
///
/// ### Deleting one record
/// - ``delete(_:inZone:)``
/// - ``forceDelete(_:inZone:)``
///
/// ### Changing many records
/// - ``save(_:named:inZone:atomic:duplicates:progress:)``
/// - ``save(_:inZone:atomic:duplicates:progress:)``
/// - ``upsert(_:named:inZone:atomic:duplicates:progress:)``
/// - ``update(_:inZone:atomic:progress:)``
/// - ``replace(_:inZone:atomic:progress:)``
/// - ``delete(_:inZone:atomic:progress:)``
/// - ``forceDelete(_:inZone:atomic:progress:)``
/// - ``modify(_:inZone:atomic:duplicates:desiredKeys:progress:)``
/// - ``BatchProgress``
/// - ``DuplicateNames``
///
/// ### Zones
/// - ``fetchZones()``
/// - ``fetchZone(_:)``
/// - ``fetchZones(_:)``
/// - ``createZone(_:)``
/// - ``createZones(_:)``
/// - ``deleteZone(_:)``
/// - ``deleteZones(_:)``
///
/// ### Sharing
/// - ``share(_:title:type:thumbnail:publicPermission:participants:inZone:)``
/// - ``shareZone(_:title:type:thumbnail:publicPermission:participants:)``
/// - ``fetchShare(of:inZone:)``
/// - ``fetchShare(ofZone:)``
/// - ``update(_:)-(Share)``
/// - ``stopSharing(_:)``
/// - ``leave(_:)``
/// - ``Share``
///
/// ### Files
/// - ``upload(_:for:of:named:inZone:progress:)``
/// - ``upload(_:for:of:inZone:progress:)``
/// - ``upload(_:inZone:maximumConcurrency:progress:)``
/// - ``download(_:to:progress:)-(Asset,_,_)``
/// - ``download(_:to:progress:)-(AssetField,_,_)``
/// - ``download(_:upTo:progress:)-(Asset,_,_)``
/// - ``download(_:upTo:progress:)-(AssetField,_,_)``
/// - ``download(_:maximumConcurrency:progress:)``
/// - ``chunks(of:)-(Asset)``
/// - ``chunks(of:)-(AssetField)``
/// - ``rereference(_:forZone:)``
/// - ``rereference(_:inZone:forZone:)``
///
/// ### Following changes
/// - ``changes(since:pageSize:)``
/// - ``changes(inZone:since:desiredKeys:desiredRecordTypes:newestFirst:pageSize:)``
/// - ``changes(inZones:since:desiredKeys:desiredRecordTypes:newestFirst:pageSize:)``
/// - ``changes(to:inZone:since:desiredKeys:newestFirst:pageSize:)-(Model.Type,_,_,_,_,_)``
/// - ``changes(to:inZone:since:desiredKeys:newestFirst:pageSize:)-([RecordReading<Item>],_,_,_,_,_)``
///
/// ### Spelling
/// - ``numbersAsStrings``
///
/// ### Notifications of changes
/// - ``save(_:)-(Subscription)``
/// - ``save(_:)-([Subscription])``
/// - ``fetchSubscriptions()``
/// - ``fetchSubscription(_:)``
/// - ``fetchSubscriptions(_:)``
/// - ``update(_:)-(Subscription)``
/// - ``deleteSubscription(_:)``
/// - ``deleteSubscriptions(_:)``
/// - ``notifications(apnsEnvironment:clientID:)``
public struct CloudKitDatabase: Sendable {
    /// The service of the database's container.
    public let service: CloudKitService

    /// Which of the container's databases it is.
    public let scope: DatabaseScope

    /// Whether the service is asked to send the numbers of records as JSON strings (`numbersAsStrings`), in queries,
    /// lookups, changes and the responses to writes.
    ///
    /// The client does not need it: it reads numbers of 64 bits without loss, as the same values either way. It is for
    /// code that reads the responses in a middleware or a proxy, with a JSON parser that has no integers of 64 bits.
    ///
    /// ```swift
    /// var database = service.publicDatabase
    /// database.numbersAsStrings = true
    /// let note = try await database.fetch("note-1")
    /// // POST .../records/lookup  {"numbersAsStrings":true,"records":[{"recordName":"note-1"}]}
    /// // {"records":[{"fields":{"stars":{"type":"INT64","value":"5"}, ...
    /// ```
    ///
    /// Apple's pages of the three calls name the flag; they do not say which types it affects.
    public var numbersAsStrings = false

    /// ``numbersAsStrings`` as requests have it: only `true` is sent.
    var numbersAsStringsOption: Bool? { numbersAsStrings ? true : nil }

    /// The path parameters of every operation on this database.
    var path: Components.Parameters.DatabasePath { service.path(to: scope) }

    /// The most items that the service takes or returns in one request (Apple's page of limits).
    static let batchSize = 200
}

extension CloudKitError {
    static func invalidArgument(_ message: String, item: Item? = nil) -> CloudKitError {
        var error = CloudKitError(code: .invalidArgument, message: message)
        error.item = item
        return error
    }
}

extension Array {
    /// The index ranges of parts of at most `size` elements; an empty array has no parts.
    func parts(ofAtMost size: Int) -> [Range<Int>] {
        stride(from: 0, to: count, by: size).map { $0..<Swift.min($0 + size, count) }
    }
}
