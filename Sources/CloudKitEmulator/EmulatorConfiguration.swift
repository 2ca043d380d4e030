public import CloudKitModel

/// How the emulator behaves where the service's behaviour is a choice, a limit, or not known.
///
/// ```swift
/// var configuration = EmulatorConfiguration()
/// configuration.unsettled.createOnExisting = .conflict
/// configuration.webAuthTokens.areSingleUse = true
/// ```
public struct EmulatorConfiguration: Hashable, Sendable {
    /// Which containers exist.
    public enum Containers: Hashable, Sendable {
        /// Every container comes into being when it is first named.
        case createdOnFirstUse
        /// Only containers given to ``CloudKitEmulator/registerContainer(_:)`` exist.
        case registeredOnly
    }

    /// Which record types and fields the production environment takes.
    public enum ProductionSchema: Hashable, Sendable {
        /// Those that ``CloudKitEmulator/deploySchema(of:)`` brought from development, and the service's own. A write of any
        /// other is a `BAD_REQUEST`.
        case deployedOnly
        /// Any: a write extends the schema of production as it does in development.
        case extendedByWrites
    }

    /// Which record types and fields writes may add to the development environment.
    public enum DevelopmentSchema: Hashable, Sendable {
        /// Any, until a schema was imported; from then on only what that schema has.
        case extendedUntilImport
        /// Any, beside those of an imported schema.
        case extendedByWrites
        /// Only those of an imported schema. A server-to-server key met this on the service (observed live).
        case importedOnly
    }

    /// Which containers exist.
    public var containers = Containers.createdOnFirstUse
    /// Which record types and fields the production environment takes. Default: ``ProductionSchema/deployedOnly``, as on the
    /// service (Apple's "Designing and Creating a CloudKit Database").
    public var productionSchema = ProductionSchema.deployedOnly
    /// Which record types and fields the development environment takes. Default: ``DevelopmentSchema/extendedUntilImport``. Apps make
    /// types and fields by saving records; over web services a server-to-server key did not (observed live).
    public var developmentSchema = DevelopmentSchema.extendedUntilImport
    /// How far the date of a signed request may lie from the clock, in seconds each way.
    ///
    /// Ten minutes is what is commonly said; no page of Apple's gives a figure.
    public var signatureClockWindow: Double = 600
    /// How long tokens of web authentication live, and how often they may be used.
    public var webAuthTokens = WebAuthTokens()
    /// How long the addresses and receipts of assets are good.
    public var assets = Assets()
    /// What the service refuses for its size.
    public var limits = Limits()
    /// What the service does where no source tells.
    public var unsettled = Unsettled()
    /// The `deviceID` of `created` and `modified` for writes over web services. Recorded replies show `"2"`.
    public var deviceID = "2"

    /// The service's behaviour, as far as it is known.
    public init() {}
}

extension EmulatorConfiguration {
    /// How long tokens of web authentication live, and how often they may be used.
    public struct WebAuthTokens: Hashable, Sendable {
        /// The life of a token, in seconds: 30 minutes (Apple's page on web authentication).
        public var lifetime: Double = 30 * 60
        /// The life of a token of a person who ticked "keep me signed in", in seconds: 2 weeks.
        public var keptSignedInLifetime: Double = 14 * 24 * 60 * 60
        /// Whether a token is refused once it was used.
        ///
        /// Apple's page says single use; the live service sends a new token with every reply and keeps taking the old
        /// one (a 25 hours old token, 8 uses in a row and 6 at once all succeeded).
        public var areSingleUse = false
        /// The code for a token that is expired, used up or no token of ours. Peers see 421, `AUTHENTICATION_REQUIRED`;
        /// some see 401.
        public var rejection = ServerErrorCode.authenticationRequired

        /// The service's behaviour, as far as it is known.
        public init() {}
    }

    /// How long the addresses and receipts of assets are good.
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

    /// What the service refuses for its size.
    public struct Limits: Hashable, Sendable {
        /// Operations in one request: 200.
        public var operationsPerRequest = 200
        /// Records in one reply: 200, whatever `resultsLimit` asks for.
        public var recordsPerResponse = 200
        /// Bytes of one record without its assets: 1 MB.
        public var recordSize = 1_048_576
        /// Bytes of one asset: 50 MB, as Apple's page of limits has it; the page on uploads says 15 MB.
        public var assetSize: Int64 = 50 * 1024 * 1024
        /// Files to ask addresses for in one request: 200.
        public var uploadTokensPerRequest = 200
        /// `DELETE_SELF` references to one record: 750.
        public var deleteSelfReferencesPerTarget = 750
        /// Fields of one record type: 256.
        public var fieldsPerRecordType = 256
        /// Zones of one database: 1000.
        public var zonesPerDatabase = 1000
        /// Characters of the name of a record, zone or field: 255.
        public var nameLength = 255
        /// Participants of one share, the owner included: natively 100.
        public var participantsPerShare = 100
        /// Pushes that wait for one device; an older one makes room for the newest. No source gives a figure.
        public var pushesPerDevice = 1000
        /// Bytes of a push, above which it loses the values of fields: 4 KiB, the limit of Apple's push service.
        public var pushSize = 4096
        /// Values of one filter that takes a list: natively 250 for `IN` and `NOT_IN`.
        public var valuesPerListFilter = 250

        /// The service's limits.
        public init() {}
    }

    /// The service's behaviour that no source settles, a switch for each.
    ///
    /// Each default is what the better evidence says, or else what a careful client is glad to meet in a test.
    public struct Unsettled: Hashable, Sendable {
        /// What answers a `create` of a name that exists.
        public enum CreateOnExisting: Hashable, Sendable {
            /// `EXISTS`, as Apple's table of codes has it.
            case exists
            /// `CONFLICT`, to which the native framework maps the same answer.
            case conflict
        }

        /// What becomes of an `update`, `replace` or `delete` whose record carries no change tag.
        public enum MissingTag: Hashable, Sendable {
            /// The operation is a `BAD_REQUEST`.
            case refused
            /// The operation goes ahead, as with `force`.
            case accepted
        }

        /// What becomes of `atomic: true` where the zone does not support it: the default zone and the public database.
        public enum AtomicInDefaultZone: Hashable, Sendable {
            /// It is ignored, as the native framework does.
            case ignored
            /// The request is a `BAD_REQUEST`.
            case refused
        }

        /// How a failed atomic batch is answered.
        public enum AtomicFailure: Hashable, Sendable {
            /// The culprit has its own error, all others have `ATOMIC_ERROR`, in a reply that succeeds.
            case perRecord
            /// The whole request fails with `ATOMIC_ERROR`.
            case wholeRequest
        }

        /// What a field with a type that does not exist does to `records/modify`.
        public enum UnknownFieldType: Hashable, Sendable {
            /// The whole request is a `BAD_REQUEST`, "BadRequestException: Unexpected input".
            case refusesRequest
            /// The record with the field has the error.
            case refusesRecord
        }

        /// What a change feed does with the sync token `""`.
        public enum EmptySyncToken: Hashable, Sendable {
            /// Nothing has changed since (what one probe of the live service saw).
            case caughtUp
            /// The same as no token: the whole history.
            case fromTheStart
        }

        /// What the two comparators on the beginning of a list's members look at.
        public enum ListMemberBeginsWith: Hashable, Sendable {
            /// Any member, as the name says.
            case anyMember
            /// The first member, as Apple's text says.
            case firstMember
        }

        /// What answers the creation of a zone that exists.
        public enum CreateExistingZone: Hashable, Sendable {
            /// The zone, as if it were new.
            case succeeds
            /// The zone error `EXISTS`.
            case exists
        }

        /// What answers `users/caller` and `users/current` with a server-to-server key.
        public enum ServerKeyAsCaller: Hashable, Sendable {
            /// The user record name in which the key writes records, and no name.
            case answered
            /// `AUTHENTICATION_FAILED`.
            case refused
        }

        /// What `users/discover` answers for people who are not found.
        public enum UsersNotFound: Hashable, Sendable {
            /// Nothing.
            case omitted
            /// An identity that holds what was looked up and no more.
            case withoutName
        }

        /// What GET `users/discover` does.
        public enum DiscoverAllUsers: Hashable, Sendable {
            /// It lists all other people who can be discovered.
            case listsUsers
            /// It fails with `INTERNAL_ERROR`, which is all that was seen of the live service.
            case fails
        }

        /// When the service takes two query subscriptions for the same and refuses the second.
        public enum DuplicateSubscriptions: Hashable, Sendable {
            /// When record type, filters, zone and `firesOn` are the same.
            case sameQueryAndEvents
            /// When record type and `firesOn` are the same, whatever the filters.
            case sameTypeAndEvents
        }

        /// What `tokens/register` answers.
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

        /// `create` of a name that exists. Default: ``CreateOnExisting/exists``.
        public var createOnExisting = CreateOnExisting.exists
        /// `update` and `replace` without a change tag. Default: ``MissingTag/refused``, as the record table and
        /// CloudKit JS have it.
        public var updateWithoutTag = MissingTag.refused
        /// `delete` without a change tag. Default: ``MissingTag/refused``, as the record table has it; the section on
        /// deleting asks for `recordName` alone.
        public var deleteWithoutTag = MissingTag.refused
        /// Whether `forceDelete` of a record that does not exist succeeds. Default: it does, as natively.
        public var forceDeleteOfMissingSucceeds = true
        /// The value of `atomic` when the request has none. Default: `false`.
        public var atomicByDefault = false
        /// `atomic: true` in the default zone. Default: ``AtomicInDefaultZone/ignored``.
        public var atomicInDefaultZone = AtomicInDefaultZone.ignored
        /// The answer to a failed atomic batch. Default: ``AtomicFailure/perRecord``.
        public var atomicFailure = AtomicFailure.perRecord
        /// A type that does not exist in `records/modify`. Default: ``UnknownFieldType/refusesRequest``, as reported of the live
        /// service, and as queries with such a type are answered.
        public var unknownFieldType = UnknownFieldType.refusesRequest
        /// The code for a sync token whose zone was deleted and made again. Default: `CHANGE_TOKEN_EXPIRED`, which
        /// three peers expect.
        public var expiredToken: ServerErrorCode = "CHANGE_TOKEN_EXPIRED"
        /// The sync token `""`. Default: ``EmptySyncToken/caughtUp``.
        public var emptySyncToken = EmptySyncToken.caughtUp
        /// The index of an imported schema without which a field is compared by no range. Default: ``RangeIndex/queryable``, as in practice;
        /// Apple's page on the schema language says `SORTABLE`.
        public var rangeIndex = RangeIndex.queryable
        /// The code for a query of a record type that was never saved. Default: `BAD_REQUEST`.
        public var unknownRecordType = ServerErrorCode.badRequest
        /// Whether `NOT_EQUALS`, `NOT_IN` and the other negations match records that lack the field. Default: they do
        /// not.
        public var negationsMatchMissingFields = false
        /// Whether `BEGINS_WITH` and its kin ignore case. Default: they do not, as natively.
        public var beginsWithIgnoresCase = false
        /// `LIST_MEMBER_BEGINS_WITH`. Default: ``ListMemberBeginsWith/anyMember``.
        public var listMemberBeginsWith = ListMemberBeginsWith.anyMember
        /// The creation of a zone that exists. Default: ``CreateExistingZone/succeeds``.
        public var createExistingZone = CreateExistingZone.succeeds
        /// The code for a server-to-server key on a private or shared database. Default: `AUTHENTICATION_FAILED`, which
        /// is what the `users` endpoints were seen to answer.
        public var serverKeyOnPrivateDatabase = ServerErrorCode.authenticationFailed
        /// The code for a record of more than ``Limits-swift.struct/recordSize`` bytes. Default: `LIMIT_EXCEEDED`, as in Apple's framework;
        /// no source says what the service answers.
        public var oversizedRecord = ServerErrorCode(rawValue: "LIMIT_EXCEEDED")
        /// `users/caller` and `users/current` with a server-to-server key. Default: ``ServerKeyAsCaller/answered``: Apple's sample
        /// for Node begins with `setUpAuth()`, which asks `users/caller`, and goes on with what it gets; a live note says 401.
        public var serverKeyAsCaller = ServerKeyAsCaller.answered
        /// The code for a share of a record that does not exist; its reason is known. Default: `BAD_REQUEST`.
        public var shareOfMissingRecord = ServerErrorCode.badRequest
        /// The code of a short GUID that no share has. Default: `NOT_FOUND`.
        public var unknownShortGUID = ServerErrorCode.notFound
        /// The code for a person who follows the link of a share without an invitation. Default:
        /// `ACCESS_DENIED`.
        public var uninvitedToShare = ServerErrorCode.accessDenied
        /// Users that `users/discover` does not find. Default: ``UsersNotFound/omitted``.
        public var usersNotFound = UsersNotFound.omitted
        /// GET `users/discover`. Default: ``DiscoverAllUsers/listsUsers``, as documented.
        public var discoverAllUsers = DiscoverAllUsers.listsUsers
        /// Which query subscriptions are the same. Default: ``DuplicateSubscriptions/sameQueryAndEvents``. What was observed
        /// names record type and `firesOn`, of subscriptions that had no filters.
        public var duplicateSubscriptions = DuplicateSubscriptions.sameQueryAndEvents
        /// Whether there are subscriptions of the type `database`, which only the constants of CloudKit JS name.
        /// Default: there are.
        public var servesDatabaseSubscriptions = true
        /// Whether a query subscription that names neither zone nor `zoneWide` watches all zones. Default: it does; Apple's page
        /// says both.
        public var querySubscriptionsAreZoneWide = true
        /// Whether a token of `tokens/create` gets pushes only when it was registered. Default: it gets them at once.
        public var deviceTokensNeedRegistration = false
        /// Whether `tokens/create` and `tokens/register` insist on `clientId`. Default: they do, as a peer's test has it.
        public var deviceTokensNeedClientID = true
        /// The reply of `tokens/register`. Default: ``DeviceTokenRegistration/answersToken``: CloudKit JS reads token and courier of
        /// it, and waits for no pushes without them.
        public var deviceTokenRegistration = DeviceTokenRegistration.answersToken
        /// The numbers of databases in pushes. Default: ``DatabaseNumbers/fromOne``.
        public var databaseNumbersInPushes = DatabaseNumbers.fromOne

        /// Whether clients may query the records of type `Users`. Default: they may not, as natively ("executing a query where
        /// the record type is CKRecordTypeUserRecord results in an error").
        public var userRecordsCanBeQueried = false
        /// The code for a client that creates or deletes a record of type `Users`. Default: `ACCESS_DENIED`; no source has
        /// the service's answer.
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
    /// What a push has for a database.
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
