public import CloudKitModel

/// The limits and switches of the emulator: its behaviour where the service's behaviour is a choice, a limit, or not
/// known.
///
/// ```swift
/// var configuration = EmulatorConfiguration()
/// configuration.unsettled.createOnExisting = .exists
/// configuration.webAuthTokens.areSingleUse = true
/// ```
public struct EmulatorConfiguration: Hashable, Sendable {
    /// The containers that exist.
    public enum Containers: Hashable, Sendable {
        /// Every container is created when a request first names it.
        case createdOnFirstUse
        /// Only containers given to ``CloudKitEmulator/registerContainer(_:)`` exist.
        case registeredOnly
    }

    /// Which record types and fields the production environment takes.
    public enum ProductionSchema: Hashable, Sendable {
        /// The types and fields that ``CloudKitEmulator/deploySchema(of:)`` copied from development, and the service's
        /// own. A write of any other is a `BAD_REQUEST`.
        case deployedOnly
        /// All: a write extends the schema of production as it does in development.
        case extendedByWrites
    }

    /// Which record types and fields writes may add to the development environment.
    public enum DevelopmentSchema: Hashable, Sendable {
        /// All, until a schema is imported; from then on only those of that schema.
        case extendedUntilImport
        /// All, beside those of an imported schema.
        case extendedByWrites
        /// Only those of an imported schema. The service behaved so towards a server-to-server key (observed live).
        case importedOnly
    }

    /// The containers that exist.
    public var containers = Containers.createdOnFirstUse
    /// The record types and fields that the production environment accepts. Default: ``ProductionSchema/deployedOnly``,
    /// as on the service (Apple's "Designing and Creating a CloudKit Database").
    public var productionSchema = ProductionSchema.deployedOnly
    /// The record types and fields that writes can use in the development environment. Default:
    /// ``DevelopmentSchema/extendedUntilImport``. Apps create types and fields when they save records. Over web
    /// services, a server-to-server key could not (observed live).
    public var developmentSchema = DevelopmentSchema.extendedUntilImport
    /// The maximum difference between the date of a signed request and the clock, in seconds, before or after.
    ///
    /// Ten minutes is the commonly reported figure; no page of Apple's gives one.
    public var signatureClockWindow: Double = 600
    /// How long web authentication tokens are valid, and how often they may be used.
    public var webAuthTokens = WebAuthTokens()
    /// How long the addresses and receipts of assets are valid.
    public var assets = Assets()
    /// The limits of sizes and counts, above which the service refuses a request.
    public var limits = Limits()
    /// Switches for behaviour of the service that no source settles.
    public var unsettled = Unsettled()
    /// Whether writes can have what only the service itself writes in its own containers, as recorded replies show it:
    /// record names that begin with `_`, and references into other zones. Default: they cannot.
    ///
    /// Switch it on to seed recorded records. A reference into another zone has no effect there: its target is neither
    /// looked for nor kept, and its deletion deletes nothing.
    public var acceptsRecordsOfService = false
    /// The `deviceID` of `created` and `modified` for writes over web services. Recorded replies show `"2"`.
    public var deviceID = "2"

    /// The service's behaviour, as far as it is known.
    public init() {}
}

extension EmulatorConfiguration {
    /// How long web authentication tokens are valid, and how often they may be used.
    public struct WebAuthTokens: Hashable, Sendable {
        /// The life of a token, in seconds: 30 minutes (Apple's page on web authentication).
        public var lifetime: Double = 30 * 60
        /// The life of a token of a user who chose "keep me signed in", in seconds: 2 weeks.
        public var keptSignedInLifetime: Double = 14 * 24 * 60 * 60
        /// Whether a token is refused once it was used.
        ///
        /// Apple's page says single use. The live service sends a new token with every reply, and still accepts the old
        /// one (a token 25 hours old, 8 uses in a row and 6 at once all succeeded).
        public var areSingleUse = false
        /// The code for a token that is expired, used up or not issued by this emulator. Other clients report 421,
        /// `AUTHENTICATION_REQUIRED`; some report 401.
        public var rejection = ServerErrorCode.authenticationRequired

        /// The service's behaviour, as far as it is known.
        public init() {}
    }

    /// How long the addresses and receipts of assets are valid.
    public struct Assets: Hashable, Sendable {
        /// The life of an address to upload to, in seconds: 15 minutes (Apple's page on uploads).
        public var uploadURLLifetime: Double = 15 * 60
        /// The life of an address to download from, in seconds: an hour (recorded).
        public var downloadURLLifetime: Double = 60 * 60
        /// How long an uploaded file may be attached to its record, in seconds: a day. The service's figure is unknown.
        public var receiptLifetime: Double = 24 * 60 * 60

        /// The service's behaviour, as far as it is known.
        public init() {}
    }

    /// The limits of sizes and counts, above which the service refuses a request.
    public struct Limits: Hashable, Sendable {
        /// Operations in one request: 200.
        public var operationsPerRequest = 200
        /// Records in one reply: 200, whatever `resultsLimit` asks for.
        public var recordsPerResponse = 200
        /// Bytes of one record without its assets: 1 MB.
        public var recordSize = 1_048_576
        /// Bytes of one asset: 50 MB, as Apple's page of limits has it; the page on uploads says 15 MB.
        public var assetSize: Int64 = 50 * 1024 * 1024
        /// Upload addresses in one request: 200.
        public var uploadTokensPerRequest = 200
        /// `DELETE_SELF` references to one record: 750.
        public var deleteSelfReferencesPerTarget = 750
        /// Fields of one record type: 256.
        public var fieldsPerRecordType = 256
        /// Zones of one database: 1000.
        public var zonesPerDatabase = 1000
        /// Characters of the name of a record, zone, record type, field or subscription, and of the identifier of a
        /// container: 255.
        public var nameLength = 255
        /// Participants of one share, the owner included: 100, as in the native framework.
        public var participantsPerShare = 100
        /// Pushes that wait for one device: 1000. A further push replaces the oldest. No source gives a figure.
        public var pushesPerDevice = 1000
        /// Bytes of a push: 4 KiB, the limit of Apple's push service.
        ///
        /// A longer push loses the values of fields.
        public var pushSize = 4096
        /// Values of one filter that takes a list: 250, as for `IN` and `NOT_IN` in the native framework.
        public var valuesPerListFilter = 250

        /// The service's limits.
        public init() {}
    }

    /// Switches for behaviour of the service that no source settles.
    ///
    /// Each default follows the better evidence. Where there is no evidence, it is the behaviour that a careful client
    /// should be tested with.
    public struct Unsettled: Hashable, Sendable {
        /// The response to a `create` of a name that exists.
        public enum CreateOnExisting: Hashable, Sendable {
            /// `EXISTS`, as Apple's table of codes has it.
            case exists
            /// `CONFLICT`, which a test of another client against the live service expects, and to which the native
            /// framework maps the same response.
            case conflict
        }

        /// The result of an `update`, `replace` or `delete` whose record carries no change tag.
        public enum MissingTag: Hashable, Sendable {
            /// The whole request is a `BAD_REQUEST`, "BadRequestException: missing required field 'recordChangeTag'",
            /// which a test of another client copied from the live service.
            case refusesRequest
            /// The operation is a `BAD_REQUEST`.
            case refusesRecord
            /// The operation goes ahead, as with `force`.
            case accepted
        }

        /// The response to a write to the public database with the API token alone.
        public enum AnonymousWrite: Hashable, Sendable {
            /// The whole request is `AUTHENTICATION_REQUIRED`.
            case refusesRequest
            /// Each record is `ACCESS_DENIED`, as for a user without permission; a request for uploads as a whole.
            case refusesRecord
        }

        /// The effect of `atomic: true` where the zone does not support it: in the default zone and the public
        /// database.
        public enum AtomicInDefaultZone: Hashable, Sendable {
            /// It is ignored, as the native framework does.
            case ignored
            /// The request is a `BAD_REQUEST`.
            case refused
        }

        /// The response to a failed atomic batch.
        public enum AtomicFailure: Hashable, Sendable {
            /// The reply succeeds. The operation that failed has its own error, and all others have `ATOMIC_ERROR`.
            case perRecord
            /// The whole request fails with `ATOMIC_ERROR`.
            case wholeRequest
        }

        /// The effect on `records/modify` of a field with a type that does not exist.
        public enum UnknownFieldType: Hashable, Sendable {
            /// The whole request is a `BAD_REQUEST`, "BadRequestException: Unexpected input".
            case refusesRequest
            /// The record with the field has the error.
            case refusesRecord
        }

        /// The meaning of the sync token `""` in a change feed.
        public enum EmptySyncToken: Hashable, Sendable {
            /// Nothing has changed since (what one probe of the live service saw).
            case caughtUp
            /// The same as no token: the whole history.
            case fromTheStart
        }

        /// The members of a list that `LIST_MEMBER_BEGINS_WITH` and its negation look at.
        public enum ListMemberBeginsWith: Hashable, Sendable {
            /// Any member, as the name says.
            case anyMember
            /// The first member, as Apple's text says.
            case firstMember
        }

        /// The response to the creation of a zone that exists.
        public enum CreateExistingZone: Hashable, Sendable {
            /// The zone, as if it were new.
            case succeeds
            /// The zone error `EXISTS`.
            case exists
        }

        /// The members of the zones in the response of `zones/list`.
        public enum ZonesInList: Hashable, Sendable {
            /// `zoneID` alone (recorded).
            case identifiers
            /// `syncToken` and `atomic` as well, as Apple's page on zone dictionaries has it.
            case whole
        }

        /// The response of `users/caller` and `users/current` to a server-to-server key.
        public enum ServerKeyAsCaller: Hashable, Sendable {
            /// The user record name under which the key writes records, without name components.
            case answered
            /// `AUTHENTICATION_FAILED`.
            case refused
        }

        /// The response of `users/discover` for people who are not found.
        public enum UsersNotFound: Hashable, Sendable {
            /// Nothing.
            case omitted
            /// An identity that holds only the lookup information of the request.
            case withoutName
        }

        /// The response of GET `users/discover`.
        public enum DiscoverAllUsers: Hashable, Sendable {
            /// It lists all users who can be discovered, except for the caller.
            case listsUsers
            /// It fails with `INTERNAL_ERROR`, which is all that was seen of the live service.
            case fails
        }

        /// When two query subscriptions count as the same, so that the service refuses the second.
        public enum DuplicateSubscriptions: Hashable, Sendable {
            /// When record type, filters, zone and `firesOn` are the same.
            case sameQueryAndEvents
            /// When record type and `firesOn` are the same, whatever the filters.
            case sameTypeAndEvents
        }

        /// The response of `tokens/register`.
        public enum DeviceTokenRegistration: Hashable, Sendable {
            /// The three keys of `tokens/create`.
            case answersToken
            /// An object without keys.
            case answersNothing
        }

        /// How pushes number the databases (`dbs`).
        public enum DatabaseNumbers: Hashable, Sendable {
            /// 1 public, 2 private, 3 shared, as native samples have it.
            case fromOne
            /// 0 public, 1 private, 2 shared, as CloudKit JS reads it.
            case fromZero
        }

        /// The index that a filter on a range needs.
        public enum RangeIndex: Hashable, Sendable {
            /// `QUERYABLE`.
            case queryable
            /// `SORTABLE`.
            case sortable
        }

        /// `create` of a name that exists. Default: ``CreateOnExisting/conflict``.
        public var createOnExisting = CreateOnExisting.conflict
        /// `update` and `replace` without a change tag. Default: ``MissingTag/refusesRequest``.
        public var updateWithoutTag = MissingTag.refusesRequest
        /// `delete` without a change tag. Default: ``MissingTag/refusesRecord``, as the record table has it; the section
        /// on deleting asks for `recordName` alone.
        public var deleteWithoutTag = MissingTag.refusesRecord
        /// A write to the public database with the API token alone. Default: ``AnonymousWrite/refusesRequest``, as a
        /// test of another client against the live service expects.
        public var anonymousWrite = AnonymousWrite.refusesRequest
        /// Whether `forceDelete` of a record that does not exist succeeds. Default: it does, as in the native
        /// framework.
        public var forceDeleteOfMissingSucceeds = true
        /// The value of `atomic` when the request has none. Default: `false`.
        public var atomicByDefault = false
        /// `atomic: true` in the default zone. Default: ``AtomicInDefaultZone/ignored``.
        public var atomicInDefaultZone = AtomicInDefaultZone.ignored
        /// The response to a failed atomic batch. Default: ``AtomicFailure/perRecord``.
        public var atomicFailure = AtomicFailure.perRecord
        /// A type that does not exist in `records/modify`. Default: ``UnknownFieldType/refusesRequest``, as reported of
        /// the live service, and as queries with such a type are answered.
        public var unknownFieldType = UnknownFieldType.refusesRequest
        /// The code for a sync token whose zone was deleted and created again. Default: `CHANGE_TOKEN_EXPIRED`, which
        /// three other clients expect.
        public var expiredToken: ServerErrorCode = "CHANGE_TOKEN_EXPIRED"
        /// The sync token `""`. Default: ``EmptySyncToken/caughtUp``.
        public var emptySyncToken = EmptySyncToken.caughtUp
        /// The index that a field of an imported schema needs for filters on a range. Default:
        /// ``RangeIndex/queryable``, as in practice; Apple's page on the schema language says `SORTABLE`.
        public var rangeIndex = RangeIndex.queryable
        /// The code for a query of a record type that was never saved. Default: `BAD_REQUEST`.
        public var unknownRecordType = ServerErrorCode.badRequest
        /// The code for a record that a server-to-server key saves, and whose type the schema neither has nor gets by
        /// writes. Default: `NOT_FOUND`, which a test of another client against the live service expects. Other callers
        /// get `BAD_REQUEST`.
        public var unknownTypeOfServerKey = ServerErrorCode.notFound
        /// Whether `NOT_EQUALS`, `NOT_IN` and the other negations match records that lack the field. Default: they do
        /// not.
        public var negationsMatchMissingFields = false
        /// Whether `BEGINS_WITH` and the other comparators of beginnings ignore case. Default: they do not, as in the
        /// native framework.
        public var beginsWithIgnoresCase = false
        /// `LIST_MEMBER_BEGINS_WITH`. Default: ``ListMemberBeginsWith/anyMember``.
        public var listMemberBeginsWith = ListMemberBeginsWith.anyMember
        /// The creation of a zone that exists. Default: ``CreateExistingZone/succeeds``.
        public var createExistingZone = CreateExistingZone.succeeds
        /// The zones of `zones/list`. Default: ``ZonesInList/identifiers``.
        public var zonesInList = ZonesInList.identifiers
        /// The code for a server-to-server key on a private or shared database. Default: `AUTHENTICATION_FAILED`, which
        /// the `users` endpoints were seen to answer.
        public var serverKeyOnPrivateDatabase = ServerErrorCode.authenticationFailed
        /// The code for a record of more than ``Limits-swift.struct/recordSize`` bytes. Default: `LIMIT_EXCEEDED`, as
        /// in Apple's framework; no source shows the service's response.
        public var oversizedRecord = ServerErrorCode(rawValue: "LIMIT_EXCEEDED")
        /// `users/caller` and `users/current` with a server-to-server key. Default: ``ServerKeyAsCaller/answered``:
        /// Apple's sample for Node begins with `setUpAuth()`, which requests `users/caller`, and uses its response. An
        /// observation of the live service says 401.
        public var serverKeyAsCaller = ServerKeyAsCaller.answered
        /// The code for a share of a record that does not exist. Default: `BAD_REQUEST`. The text of the failure is
        /// known, the code is not.
        public var shareOfMissingRecord = ServerErrorCode.badRequest
        /// The code of a short GUID that no share has. Default: `NOT_FOUND`.
        public var unknownShortGUID = ServerErrorCode.notFound
        /// The code for a person who follows the link of a share without an invitation. Default:
        /// `ACCESS_DENIED`.
        public var uninvitedToShare = ServerErrorCode.accessDenied
        /// The code for the requests of a user who restricted the access to their data. Default: `ACCESS_DENIED`. Apple's
        /// page says that requests fail, and not how.
        public var restrictedUser = ServerErrorCode.accessDenied
        /// Users that `users/discover` does not find. Default: ``UsersNotFound/omitted``.
        public var usersNotFound = UsersNotFound.omitted
        /// GET `users/discover`. Default: ``DiscoverAllUsers/listsUsers``, as documented.
        public var discoverAllUsers = DiscoverAllUsers.listsUsers
        /// Which query subscriptions are the same. Default: ``DuplicateSubscriptions/sameQueryAndEvents``. The observed
        /// refusal names record type and `firesOn`, but those subscriptions had no filters.
        public var duplicateSubscriptions = DuplicateSubscriptions.sameQueryAndEvents
        /// Whether there are subscriptions of the type `database`. Default: there are. The only source is the constants
        /// of CloudKit JS.
        public var servesDatabaseSubscriptions = true
        /// Whether a query subscription that names neither zone nor `zoneWide` watches all zones. Default: it does.
        /// Apple's page says both.
        public var querySubscriptionsAreZoneWide = true
        /// Whether a token of `tokens/create` must be registered before it gets pushes. Default: it gets them at once.
        public var deviceTokensNeedRegistration = false
        /// Whether `tokens/create` and `tokens/register` require `clientId`. Default: they do not, because CloudKit JS
        /// 1.2.0 sends none. A test of another client expects a refusal.
        public var deviceTokensNeedClientID = false
        /// The reply of `tokens/register`. Default: ``DeviceTokenRegistration/answersToken``: CloudKit JS reads the
        /// token and the courier from it, and does not wait for pushes without them.
        public var deviceTokenRegistration = DeviceTokenRegistration.answersToken
        /// The numbers of databases in pushes. Default: ``DatabaseNumbers/fromZero``: CloudKit JS is the only known
        /// client of the web courier.
        public var databaseNumbersInPushes = DatabaseNumbers.fromZero

        /// Whether clients may query the records of type `Users`. Default: they may not, as in the native framework
        /// ("executing a query where the record type is CKRecordTypeUserRecord results in an error").
        public var userRecordsCanBeQueried = false
        /// The code for a client that creates or deletes a record of type `Users`. Default: `ACCESS_DENIED`; no source
        /// shows the service's response.
        public var creationOrDeletionOfUserRecord = ServerErrorCode.accessDenied

        /// The defaults.
        public init() {}
    }
}

extension EmulatorConfiguration.Limits {
    /// Fails a request with too many items.
    func check(_ count: Int, of items: String, atMost limit: Int? = nil) throws(EmulatorError) {
        let limit = limit ?? operationsPerRequest
        guard count <= limit else { throw .badRequest("a request has at most \(limit) \(items), not \(count)") }
    }
}

extension EmulatorConfiguration.Unsettled {
    /// The number of a database in a push.
    func databaseNumber(of scope: DatabaseScope) -> Int64 {
        let number: Int64 =
            switch scope {
            case .public: 0
            case .private: 1
            case .shared: 2
            }
        return databaseNumbersInPushes == .fromOne ? number + 1 : number
    }
}
