public import StreamingJSON

/// The value of a field that has a file.
///
/// An asset of a fetched record has a ``downloadURL`` and no ``receipt``. An asset of an upload has a receipt, and can
/// be written into a record. A fetched asset cannot be written into another record; use `assets/rereference`.
///
/// ```json
/// {"fileChecksum":"AUStEc…","receipt":"…","size":51682}
/// ```
public struct Asset: Hashable, Sendable {
    /// The signature of the file's content, base64 of 21 bytes.
    public var fileChecksum: String?
    /// The file's length in bytes.
    public var size: Int64?
    /// The encryption key of the file; private databases only.
    public var wrappingKey: String?
    /// The signature of the encrypted file; private databases only.
    public var referenceChecksum: String?
    /// The address of the file, valid for about an hour. It has `${f}` instead of a file name. Only in responses.
    public var downloadURL: String?
    /// Proof of the upload. Only in requests.
    public var receipt: String?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes an asset dictionary. Parts that are `nil` are left out of the JSON.
    public init(
        fileChecksum: String? = nil,
        size: Int64? = nil,
        wrappingKey: String? = nil,
        referenceChecksum: String? = nil,
        downloadURL: String? = nil,
        receipt: String? = nil
    ) {
        self.fileChecksum = fileChecksum
        self.size = size
        self.wrappingKey = wrappingKey
        self.referenceChecksum = referenceChecksum
        self.downloadURL = downloadURL
        self.receipt = receipt
    }
}

extension Asset: JSONBackedCodable {
    private enum Key: String, NounKey { case fileChecksum, size, wrappingKey, referenceChecksum, downloadURL, receipt }
    private static let keys = NounKeys<Key>()

    /// Reads an asset dictionary.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.beginObject()
        let keys = Self.keys
        while let key = try otherKeys.nextKey(in: keys, from: &reader) {
            switch key {
            case .fileChecksum: fileChecksum = try otherKeys.read(key, from: &reader)
            case .size: size = try otherKeys.read(key, from: &reader)
            case .wrappingKey: wrappingKey = try otherKeys.read(key, from: &reader)
            case .referenceChecksum: referenceChecksum = try otherKeys.read(key, from: &reader)
            case .downloadURL: downloadURL = try otherKeys.read(key, from: &reader)
            case .receipt: receipt = try otherKeys.read(key, from: &reader)
            }
        }
    }

    /// Writes the parts that are not `nil`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        otherKeys.write("fileChecksum", fileChecksum, to: &writer)
        otherKeys.write("size", size, to: &writer)
        otherKeys.write("wrappingKey", wrappingKey, to: &writer)
        otherKeys.write("referenceChecksum", referenceChecksum, to: &writer)
        otherKeys.write("downloadURL", downloadURL, to: &writer)
        otherKeys.write("receipt", receipt, to: &writer)
        writer.writeMembers(otherKeys)
        writer.endObject()
    }
}
