public import StreamingJSON

/// A person, as far as the caller may know them.
///
/// ```json
/// {"userRecordName":"_8e1c…","nameComponents":{"givenName":"Ann"},"lookupInfo":{"emailAddress":"ann@example.com"}}
/// ```
public struct UserIdentity: Hashable, Sendable {
    /// The name of the person's record: an underscore and 32 hex digits, different in each container.
    public var userRecordName: String?
    /// The person's name.
    public var nameComponents: NameComponents?
    /// What the person was found by.
    public var lookupInfo: LookupInfo?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes an identity. Absent parts are left out of the JSON.
    public init(
        userRecordName: String? = nil,
        nameComponents: NameComponents? = nil,
        lookupInfo: LookupInfo? = nil
    ) {
        self.userRecordName = userRecordName
        self.nameComponents = nameComponents
        self.lookupInfo = lookupInfo
    }
}

extension UserIdentity: JSONBackedCodable {
    private static let keys = JSONKeys("userRecordName", "nameComponents", "lookupInfo")

    /// Reads an identity.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: userRecordName = try otherKeys.read(key, from: &reader)
            case 1: nameComponents = try otherKeys.read(key, from: &reader)
            case 2: lookupInfo = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes the parts that are there.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "userRecordName", userRecordName, to: &writer)
        otherKeys.write(1, "nameComponents", nameComponents, to: &writer)
        otherKeys.write(2, "lookupInfo", lookupInfo, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

/// The parts of a person's name.
public struct NameComponents: Hashable, Sendable {
    /// What stands before the name, such as `Dr.`
    public var namePrefix: String?
    /// The first name.
    public var givenName: String?
    /// The second name.
    public var middleName: String?
    /// The last name.
    public var familyName: String?
    /// What stands behind the name, such as `Jr.`
    public var nameSuffix: String?
    /// What friends say.
    public var nickname: String?
    /// How the name is spoken.
    public var phoneticRepresentation: NameComponents? {
        get { phonetic?.value }
        set { phonetic = newValue.map(Box.init) }
    }
    private var phonetic: Box<NameComponents>?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a name. Absent parts are left out of the JSON.
    public init(
        namePrefix: String? = nil,
        givenName: String? = nil,
        middleName: String? = nil,
        familyName: String? = nil,
        nameSuffix: String? = nil,
        nickname: String? = nil,
        phoneticRepresentation: NameComponents? = nil
    ) {
        self.namePrefix = namePrefix
        self.givenName = givenName
        self.middleName = middleName
        self.familyName = familyName
        self.nameSuffix = nameSuffix
        self.nickname = nickname
        self.phonetic = phoneticRepresentation.map(Box.init)
    }
}

extension NameComponents: JSONBackedCodable {
    private static let keys = JSONKeys(
        "namePrefix",
        "givenName",
        "middleName",
        "familyName",
        "nameSuffix",
        "nickname",
        "phoneticRepresentation"
    )

    /// Reads a name.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: namePrefix = try otherKeys.read(key, from: &reader)
            case 1: givenName = try otherKeys.read(key, from: &reader)
            case 2: middleName = try otherKeys.read(key, from: &reader)
            case 3: familyName = try otherKeys.read(key, from: &reader)
            case 4: nameSuffix = try otherKeys.read(key, from: &reader)
            case 5: nickname = try otherKeys.read(key, from: &reader)
            case 6:
                // A plain text was seen in no reply, but costs nothing to keep.
                if try reader.peekKind() == .string {
                    try otherKeys.keep(from: &reader)
                } else {
                    phoneticRepresentation = try otherKeys.read(key, from: &reader)
                }
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes the parts that are there.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "namePrefix", namePrefix, to: &writer)
        otherKeys.write(1, "givenName", givenName, to: &writer)
        otherKeys.write(2, "middleName", middleName, to: &writer)
        otherKeys.write(3, "familyName", familyName, to: &writer)
        otherKeys.write(4, "nameSuffix", nameSuffix, to: &writer)
        otherKeys.write(5, "nickname", nickname, to: &writer)
        otherKeys.write(6, "phoneticRepresentation", phoneticRepresentation, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}

/// What a person is looked up by: one of the three.
///
/// ```swift
/// LookupInfo(emailAddress: "ann@example.com")
/// // {"emailAddress":"ann@example.com"}
/// ```
public struct LookupInfo: Hashable, Sendable {
    /// An e-mail address of the person's account.
    public var emailAddress: String?
    /// A telephone number of the person's account.
    public var phoneNumber: String?
    /// The name of the person's record.
    public var userRecordName: String?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a lookup. Absent parts are left out of the JSON.
    public init(emailAddress: String? = nil, phoneNumber: String? = nil, userRecordName: String? = nil) {
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
        self.userRecordName = userRecordName
    }
}

extension LookupInfo {
    /// Looks for the person with an e-mail address: `{"emailAddress":…}`.
    public static func emailAddress(_ emailAddress: String) -> LookupInfo {
        LookupInfo(emailAddress: emailAddress)
    }

    /// Looks for the person with a telephone number: `{"phoneNumber":…}`.
    public static func phoneNumber(_ phoneNumber: String) -> LookupInfo {
        LookupInfo(phoneNumber: phoneNumber)
    }

    /// Looks for the person by the name of their record: `{"userRecordName":…}`.
    public static func userRecordName(_ userRecordName: String) -> LookupInfo {
        LookupInfo(userRecordName: userRecordName)
    }
}

extension LookupInfo: JSONBackedCodable {
    private static let keys = JSONKeys("emailAddress", "phoneNumber", "userRecordName")

    /// Reads a lookup.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: emailAddress = try otherKeys.read(key, from: &reader)
            case 1: phoneNumber = try otherKeys.read(key, from: &reader)
            case 2: userRecordName = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
            }
        }
    }

    /// Writes the parts that are there.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write(0, "emailAddress", emailAddress, to: &writer)
        otherKeys.write(1, "phoneNumber", phoneNumber, to: &writer)
        otherKeys.write(2, "userRecordName", userRecordName, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}
