public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A record: named fields, with what the service keeps about them.
///
/// ```swift
/// var note = Record(recordType: "Note", recordName: "A")
/// note["title"] = "Hello"
/// note["count"] = 3
/// if let title = note["title"]?.stringValue { … }
/// // {"recordName":"A","recordType":"Note","fields":{
/// //     "title":{"value":"Hello","type":"STRING"},"count":{"value":3,"type":"INT64"}}}
/// ```
///
/// Records of change feeds may be deleted: they have a name, a change tag and ``isDeleted``, and no type.
/// A record that was read is written as JSON with the same meaning: members without a property are kept in
/// ``otherKeys``.
///
/// ## Topics
/// ### Identity
/// - ``recordName``
/// - ``recordType``
/// - ``zoneID``
/// - ``recordChangeTag``
/// ### Content
/// - ``subscript(_:)``
/// - ``fields``
/// ### Sharing
/// - ``parent``
/// - ``share``
/// - ``shortGUID``
/// - ``shareAccess``
public struct Record: Hashable, Sendable {
    /// When a record was created or changed, by which user and on which device.
    public struct Stamp: Hashable, Sendable {
        /// The time; whole milliseconds on the wire.
        public var timestamp: Date {
            get { time.date }
            set { time.date = newValue }
        }
        private var time: WireDate
        /// The user record name of the person, or of the server-to-server key.
        public var userRecordName: String?
        /// The device: 64 hex digits, or a short text such as `2` for the web.
        public var deviceID: String?
        /// The members that have no property here.
        public var otherKeys = OtherKeys()

        /// Makes a stamp.
        public init(timestamp: Date, userRecordName: String? = nil, deviceID: String? = nil) {
            self.time = WireDate(timestamp)
            self.userRecordName = userRecordName
            self.deviceID = deviceID
        }
    }

    /// The record's name, unique in its zone; with `nil` the service makes a name.
    public var recordName: String?
    /// The record's type; `nil` for deleted records of change feeds.
    public var recordType: String?
    /// The version of the record, an opaque text that changes with every save.
    public var recordChangeTag: String?
    /// The fields.
    public var fields: Fields
    /// Who created the record.
    public var created: Stamp?
    /// Who changed it last.
    public var modified: Stamp?
    /// The record's zone; in responses only. A request names its zone once, beside the records, and the service ignores
    /// this one.
    public var zoneID: ZoneID? {
        get { zone?.value }
        set { zone = newValue.map(Box.init) }
    }
    private var zone: Box<ZoneID>?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()
    /// The fields that plug-ins of the service added; only in Apple's own containers.
    public var pluginFields: Fields?
    private var deleted: Bool?
    private var sharing: Box<Sharing>?
    private var hadFields = ExcludedFromEquality(false)

    /// The value of a field; `nil` when the record does not have it. Assigning `nil` removes the field from this value,
    /// and an update then does not change the field. Assign ``FieldValue/null`` to clear the field.
    public subscript(name: String) -> FieldValue? {
        get { fields[name] }
        set { fields[name] = newValue }
    }

    /// Whether the record was deleted, `deleted`. Writing `"deleted":false` needs an assignment of `false`.
    public var isDeleted: Bool {
        get { deleted ?? false }
        set { deleted = newValue }
    }
}

// These initialisers call the memberwise initialiser of the compiler, which is the only one that does not copy the
// record at its end.
extension Record {
    /// Makes a record to be saved.
    ///
    /// - Parameters:
    ///   - recordType: The type, such as `Note`.
    ///   - recordName: The name; with `nil` the service makes a name.
    ///   - fields: The fields in the order in which they are to be written.
    public init(recordType: String, recordName: String? = nil, fields: Fields = [:]) {
        self.init(recordName: recordName, recordType: recordType, fields: fields)
    }

    /// Makes a record from its parts, for example for a change feed or for the request to delete it.
    public init(
        recordType: String? = nil,
        recordName: String?,
        recordChangeTag: String? = nil,
        fields: Fields = [:],
        created: Stamp? = nil,
        modified: Stamp? = nil,
        isDeleted: Bool? = nil,
        zoneID: ZoneID? = nil
    ) {
        self.init(
            recordName: recordName,
            recordType: recordType,
            recordChangeTag: recordChangeTag,
            fields: fields,
            created: created,
            modified: modified,
            zone: zoneID.map(Box.init),
            deleted: isDeleted
        )
    }
}

// MARK: Sharing

extension Record {
    /// The parts that few records have, together on the heap.
    fileprivate struct Sharing: Hashable, Sendable {
        var parent: Reference?
        var share: Reference?
        var shortGUID: String?
        var createShortGUID: Bool?
        var access = ShareAccess()
    }

    fileprivate var parts: Sharing {
        get { sharing?.value ?? Sharing() }
        set { sharing = Box(newValue) }
    }

    /// The parent of this record in a shared hierarchy.
    public var parent: Reference? {
        get { sharing?.value.parent }
        set { parts.parent = newValue }
    }

    /// The share whose root record this record is; in responses only.
    public var share: Reference? {
        get { sharing?.value.share }
        set { parts.share = newValue }
    }

    /// The short GUID of the share's link, such as `02aPe3Jgy3COgyPaWfUJPyfFw`; in responses only.
    public var shortGUID: String? {
        get { sharing?.value.shortGUID }
        set { parts.shortGUID = newValue }
    }

    /// Whether saving the record makes a ``shortGUID``; in requests only.
    public var createShortGUID: Bool? {
        get { sharing?.value.createShortGUID }
        set { parts.createShortGUID = newValue }
    }

    /// The participants of a share and their permissions. Only the record of a share has these members.
    public var shareAccess: ShareAccess {
        get { sharing?.value.access ?? ShareAccess() }
        set { parts.access = newValue }
    }
}

// MARK: JSON

extension Record: JSONBackedCodable {
    // In the order of recorded responses, because a reader finds keys in this order fastest.
    private enum Key: String, NounKey {
        case recordName, recordType, fields, pluginFields, recordChangeTag, created, modified, deleted, zoneID
        case parent, share, shortGUID, createShortGUID, forRecord, publicPermission, participants, owner
        case currentUserParticipant, serverErrorCode, extensionErrorCode
    }
    private static let keys = NounKeys<Key>()

    /// Reads a record dictionary.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var isError = false
        self = try Self.read(json: &reader, stops: false, isError: &isError)
    }

    /// Reads a record dictionary; with `stops` it returns early, with `isError` set, when it is an error dictionary.
    fileprivate static func read(
        json reader: inout JSONReader,
        stops: Bool,
        isError: inout Bool
    ) throws(JSONError) -> Record {
        var record = Record(recordName: nil)
        try record.readDictionary(json: &reader, stops: stops, isError: &isError)
        // A copy of a record would cost as much as reading several of its fields.
        return consume record
    }

    private mutating func readDictionary(
        json reader: inout JSONReader,
        stops: Bool,
        isError: inout Bool
    ) throws(JSONError) {
        try reader.beginObject()
        while try readMembers(json: &reader, stops: stops, isError: &isError) {
            fields = try Fields(json: &reader)
        }
    }

    /// Reads members of a record dictionary into this record, up to the fields or the end of the dictionary.
    ///
    /// - Parameters:
    ///   - reader: In front of a member.
    ///   - stops: Whether to return early when it is an error dictionary.
    ///   - isError: Set to `true` when it returns early.
    /// - Returns: Whether the reader is in front of the object of the fields. The caller reads this object, and calls
    ///   again for the other members.
    /// - Throws: A ``JSONError`` where the dictionary is not a record.
    package mutating func readMembers(
        json reader: inout JSONReader,
        stops: Bool,
        isError: inout Bool
    ) throws(JSONError) -> Bool {
        let keys = Self.keys
        while let key = try otherKeys.nextKey(in: keys, from: &reader) {
            switch key {
            case .recordName: recordName = try otherKeys.read(key, from: &reader)
            case .recordType: recordType = try otherKeys.readRepeated(key, from: &reader)
            case .fields:
                if try !otherKeys.readNull(key, from: &reader) {
                    hadFields.value = true
                    return true
                }
            case .pluginFields: pluginFields = try otherKeys.read(key, from: &reader)
            case .recordChangeTag: recordChangeTag = try otherKeys.read(key, from: &reader)
            case .created: created = try readStamp(key, from: &reader)
            case .modified: modified = try readStamp(key, from: &reader)
            case .deleted: deleted = try otherKeys.read(key, from: &reader)
            case .zoneID: zone = try otherKeys.readBox(key, from: &reader)
            case .parent: parent = try otherKeys.read(key, from: &reader)
            case .share: share = try otherKeys.read(key, from: &reader)
            case .shortGUID: shortGUID = try otherKeys.read(key, from: &reader)
            case .createShortGUID: createShortGUID = try otherKeys.read(key, from: &reader)
            case .forRecord: shareAccess.forRecord = try otherKeys.read(key, from: &reader)
            case .publicPermission: shareAccess.publicPermission = try otherKeys.read(key, from: &reader)
            case .participants: shareAccess.participants = try otherKeys.read(key, from: &reader)
            case .owner: shareAccess.owner = try otherKeys.read(key, from: &reader)
            case .currentUserParticipant: shareAccess.currentUserParticipant = try otherKeys.read(key, from: &reader)
            case .serverErrorCode, .extensionErrorCode:
                if stops, try reader.peekKind() != .null {
                    isError = true
                    return false
                }
                try otherKeys.keep(key, from: &reader)
            }
        }
        return false
    }

    /// Reads a stamp; a stamp without a timestamp is kept among the other keys.
    private mutating func readStamp(_ key: Key, from reader: inout JSONReader) throws(JSONError) -> Stamp? {
        let start = reader.position
        do throws(JSONError) {
            return try otherKeys.read(key, from: &reader)
        } catch  where error.code == .missingKey {
            reader.rewind(to: start)
            try otherKeys.keep(key, from: &reader)
            return nil
        }
    }

    /// Writes the record dictionary. An empty `fields` is written only if the record that was read had the member
    /// `fields`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write("recordName", recordName, to: &writer)
        otherKeys.write("recordType", recordType, to: &writer)
        otherKeys.write("fields", fields.isEmpty && !hadFields.value ? nil : fields, to: &writer)
        otherKeys.write("pluginFields", pluginFields, to: &writer)
        otherKeys.write("recordChangeTag", recordChangeTag, to: &writer)
        otherKeys.write("created", created, to: &writer)
        otherKeys.write("modified", modified, to: &writer)
        otherKeys.write("deleted", deleted, to: &writer)
        otherKeys.write("zoneID", zoneID, to: &writer)
        if sharing != nil || !otherKeys.isUnused {
            writeSharing(parts, to: &writer)
        }
        writer.writeMembers(otherKeys)
        writer.endObject()
    }

    private func writeSharing(_ parts: Sharing, to writer: inout JSONWriter) {
        for (name, reference) in [("parent", parts.parent), ("share", parts.share)] as [(StaticString, Reference?)] {
            if let reference {
                writer.key(name)
                reference.write(json: &writer, omittingNoAction: true)
            } else {
                otherKeys.write(name, reference, to: &writer)
            }
        }
        otherKeys.write("shortGUID", parts.shortGUID, to: &writer)
        otherKeys.write("createShortGUID", parts.createShortGUID, to: &writer)
        otherKeys.write("forRecord", parts.access.forRecord, to: &writer)
        otherKeys.write("publicPermission", parts.access.publicPermission, to: &writer)
        otherKeys.write("participants", parts.access.participants, to: &writer)
        otherKeys.write("owner", parts.access.owner, to: &writer)
        otherKeys.write("currentUserParticipant", parts.access.currentUserParticipant, to: &writer)
    }
}

extension Record.Stamp: JSONBackedCodable {
    private enum Key: String, NounKey { case timestamp, userRecordName, deviceID }
    private static let keys = NounKeys<Key>()

    /// Reads a stamp; `timestamp` is required.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var time: WireDate?
        var userRecordName: String?
        var deviceID: String?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try otherKeys.nextKey(in: keys, from: &reader) {
            switch key {
            case .timestamp: time = try otherKeys.read(key, from: &reader)
            case .userRecordName: userRecordName = try otherKeys.readRepeated(key, from: &reader)
            case .deviceID: deviceID = try otherKeys.readRepeated(key, from: &reader)
            }
        }
        guard let time else {
            throw reader.error(.missingKey, "a stamp needs \"timestamp\"")
        }
        self.time = time
        self.userRecordName = userRecordName
        self.deviceID = deviceID
        self.otherKeys = otherKeys
    }

    /// Writes `{"timestamp":…,"userRecordName":…,"deviceID":…}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("timestamp")
        writer.write(time)
        otherKeys.write("userRecordName", userRecordName, to: &writer)
        otherKeys.write("deviceID", deviceID, to: &writer)
        writer.writeMembers(otherKeys)
        writer.endObject()
    }
}

extension Record {
    /// Reads an item of a response. The item is read as a record first, and again as an error if it is one.
    public static func readResult(json reader: inout JSONReader) throws(JSONError) -> RecordResult {
        let start = reader.position
        var isError = false
        let record = try read(json: &reader, stops: true, isError: &isError)
        guard isError else { return .success(consume record) }
        reader.rewind(to: start)
        return .failure(try RecordError(json: &reader))
    }
}
