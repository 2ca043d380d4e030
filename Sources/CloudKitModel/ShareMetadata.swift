public import StreamingJSON

/// The short GUID of a share's link, and the parts of the root record to fetch with the share.
///
/// ```swift
/// ShortGUID("02aPe3Jgy3COgyPaWfUJPyfFw", shouldFetchRootRecord: true)
/// // {"value":"02aPe3Jgy3COgyPaWfUJPyfFw","shouldFetchRootRecord":true}
/// ```
public struct ShortGUID: Hashable, Sendable {
    /// The short GUID itself; its first three characters route the request.
    public var value: String
    /// Whether the response should have the root record; with `nil`, the service decides.
    public var shouldFetchRootRecord: Bool?
    /// The fields of the root record to fetch; `nil` means all fields.
    public var rootRecordDesiredKeys: [String]?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a short GUID. Parts that are `nil` are left out of the JSON.
    public init(_ value: String, shouldFetchRootRecord: Bool? = nil, rootRecordDesiredKeys: [String]? = nil) {
        self.value = value
        self.shouldFetchRootRecord = shouldFetchRootRecord
        self.rootRecordDesiredKeys = rootRecordDesiredKeys
    }
}

extension ShortGUID: JSONBackedCodable {
    private enum Key: String, NounKey { case value, shouldFetchRootRecord, rootRecordDesiredKeys }
    private static let keys = NounKeys<Key>()

    /// Reads a short GUID: a dictionary, or only the string, as CloudKit JS does.
    public init(json reader: inout JSONReader) throws(JSONError) {
        if try reader.peekKind() == .string {
            self.init(try reader.readString())
            return
        }
        var value: String?
        var shouldFetchRootRecord: Bool?
        var rootRecordDesiredKeys: [String]?
        var otherKeys = OtherKeys()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try otherKeys.nextKey(in: keys, from: &reader) {
            switch key {
            case .value: value = try otherKeys.read(key, from: &reader)
            case .shouldFetchRootRecord: shouldFetchRootRecord = try otherKeys.read(key, from: &reader)
            case .rootRecordDesiredKeys: rootRecordDesiredKeys = try otherKeys.read(key, from: &reader)
            }
        }
        guard let value else { throw reader.error(.missingKey, "a short GUID needs \"value\"") }
        self.init(value, shouldFetchRootRecord: shouldFetchRootRecord, rootRecordDesiredKeys: rootRecordDesiredKeys)
        self.otherKeys = otherKeys
    }

    /// Writes `{"value":…,"shouldFetchRootRecord":…,"rootRecordDesiredKeys":[…]}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("value")
        writer.write(value)
        otherKeys.write("shouldFetchRootRecord", shouldFetchRootRecord, to: &writer)
        otherKeys.write("rootRecordDesiredKeys", rootRecordDesiredKeys, to: &writer)
        writer.writeMembers(otherKeys)
        writer.endObject()
    }
}
