/// A failure of a local operation. Nothing was changed by the operation that threw it.
///
/// A refusal of the service is not a `StoreError`: the status of the record or the scope reports it, and the record
/// stays as it is.
public struct StoreError: Error, Hashable, Sendable {
    /// The kind of failure.
    public var code: Code
    /// What was wrong, where, and what to do.
    public var message: String
    /// The record type, where one is concerned.
    public var recordType: String?
    /// The record's name, where one is concerned.
    public var recordName: String?
    /// The field's name, where one is concerned.
    public var fieldName: String?

    /// Makes an error.
    public init(
        _ code: Code,
        _ message: String,
        recordType: String? = nil,
        recordName: String? = nil,
        fieldName: String? = nil
    ) {
        self.code = code
        self.message = message
        self.recordType = recordType
        self.recordName = recordName
        self.fieldName = fieldName
    }

    /// The kinds of failure.
    public struct Code: Hashable, Sendable {
        fileprivate enum Kind: String, Hashable, Sendable {
            case notAStore, noStore, newerFormat, needsUpdate, damaged, storage, busy, full, readOnly
            case schema, unknownRecordType, value, recordName, link, tooManyZones
            case move, notFound, nameTaken, query, file, closed, noService, otherService
            case otherUser, accountChanged
            case pendingChanges, userRecord
            case keyMissing, wrongKey
        }

        fileprivate let kind: Kind

        /// Whether the failure concerns a file as a whole.
        var isAboutFile: Bool {
            [
                .notAStore, .noStore, .newerFormat, .needsUpdate, .damaged, .storage, .busy, .full, .readOnly,
                .keyMissing, .wrongKey,
            ].contains(kind)
        }

        fileprivate init(_ kind: Kind) {
            self.kind = kind
        }
    }
}

// MARK: The file

extension StoreError.Code {
    /// The file is not a store: it is not an SQLite database, or it is the database of another program.
    public static let notAStore = Self(.notAStore)

    /// There is no store in the folder, and a store that is opened for reading does not create one.
    public static let noStore = Self(.noStore)

    /// A later version of this library wrote the file.
    public static let newerFormat = Self(.newerFormat)

    /// The file lacks tables or columns, of the store itself or of a record type. A program adds them when it opens the
    /// store for writing, once. A store that is opened for reading cannot.
    public static let needsUpdate = Self(.needsUpdate)

    /// The file is damaged or was cut off. The service has the synchronised records; keep the file for changes that
    /// were not sent.
    public static let damaged = Self(.damaged)

    /// The file cannot be read or written, for a reason that no other code covers.
    public static let storage = Self(.storage)

    /// Another process was writing to the file for longer than five seconds. The same call may work later.
    public static let busy = Self(.busy)

    /// The disk is full.
    public static let full = Self(.full)

    /// The folder or the file cannot be written to, or the store was opened for reading.
    public static let readOnly = Self(.readOnly)

    /// The file is sealed, and the store was opened without a key, also where another process has sealed it since. See
    /// ``StoreConfiguration/encryptionKey``.
    public static let keyMissing = Self(.keyMissing)

    /// The file is sealed with another key, or the bytes are not a key.
    public static let wrongKey = Self(.wrongKey)

    /// The store was closed, also while the operation was under way. What was stored before is in the file.
    public static let closed = Self(.closed)
}

// MARK: Synchronisation

extension StoreError.Code {
    /// The store was opened without a service, so that it cannot synchronise.
    public static let noService = Self(.noService)

    /// The store was synchronised with another service: another container, another environment, or an emulator where the
    /// program names Apple's service. What one service has says nothing about another, whose records would be taken for
    /// changes and deletes. Nothing was sent or fetched. Each service needs a folder of its own.
    public static let otherService = Self(.otherService)

    /// Another user is signed in than the one whose records are open. Nothing of them was sent or fetched; the records
    /// and their changes stay in the folder. ``MistStore/MistStore/openSignedInUser()`` opens those of the user who is
    /// signed in.
    public static let otherUser = Self(.otherUser)

    /// The ``LocalDatabase`` has the records of a user whose file is not open any more, because another user signed in
    /// or this one signed out. Its records and their changes stay in the folder; get the database of the present user
    /// from ``MistStore/MistStore/privateDatabase``.
    public static let accountChanged = Self(.accountChanged)

    /// The records of a user were to be removed, and have changes that were not sent and that the program has not
    /// named. See ``SignedOutRecords/removed(_:)``.
    public static let pendingChanges = Self(.pendingChanges)
}

// MARK: The record types

extension StoreError.Code {
    /// The record types do not fit each other, or do not fit the tables of the file.
    public static let schema = Self(.schema)

    /// The store was opened without the record type.
    public static let unknownRecordType = Self(.unknownRecordType)
}

// MARK: Records and queries

extension StoreError.Code {
    /// A value has no form that the service can store, or does not fit the field.
    public static let value = Self(.value)

    /// The record name is not 1 to 255 printable ASCII characters, or begins with an underscore.
    public static let recordName = Self(.recordName)

    /// A reference leads to a record in another zone or database.
    public static let link = Self(.link)

    /// The database has 900 zones or more, and the record needs a new one. The service allows 1,000.
    public static let tooManyZones = Self(.tooManyZones)

    /// The record cannot be moved: its type or its database does not permit it, the place is below the record itself, or
    /// the record is still being moved out of that zone.
    public static let move = Self(.move)

    /// A record of the type `Users` was to be made or removed. The service makes one for each user, and keeps it. See
    /// ``MistStore/MistStore/currentUser(_:)``.
    public static let userRecord = Self(.userRecord)

    /// There is no such record on this machine; also, a record that was read earlier was deleted since.
    public static let notFound = Self(.notFound)

    /// A record of another type has the name, or a record of this type in another zone.
    public static let nameTaken = Self(.nameTaken)

    /// A file cannot be read, or the store cannot keep files: its database is in memory.
    public static let file = Self(.file)

    /// The query cannot be answered: a field or a comparator does not fit.
    public static let query = Self(.query)
}

extension StoreError.Code: CustomStringConvertible {
    /// The code's name.
    public var description: String { kind.rawValue }
}

extension StoreError: CustomStringConvertible {
    /// The code, the message, and the record type, record and field.
    public var description: String {
        var text = "\(code): \(message)"
        let subject = [
            recordType.map { "record type \($0)" }, recordName.map { "record \($0)" }, fieldName.map { "field \($0)" },
        ].compactMap(\.self)
        if !subject.isEmpty { text += " (\(subject.joined(separator: ", ")))" }
        return text
    }
}
