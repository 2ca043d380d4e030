/// The type that stands beside a field's value on the wire, `type`. Unknown types are kept as they came.
public struct FieldType: OpenString {
    /// The spelling on the wire.
    public var rawValue: String

    /// Makes the type spelled `rawValue`.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// `STRING`
    public static let string: FieldType = "STRING"
    /// `INT64`
    public static let int64: FieldType = "INT64"
    /// `DOUBLE`
    public static let double: FieldType = "DOUBLE"
    /// `TIMESTAMP`
    public static let timestamp: FieldType = "TIMESTAMP"
    /// `BYTES`
    public static let bytes: FieldType = "BYTES"
    /// `REFERENCE`
    public static let reference: FieldType = "REFERENCE"
    /// `ASSETID`, the service's spelling for assets
    public static let asset: FieldType = "ASSETID"
    /// `LOCATION`
    public static let location: FieldType = "LOCATION"
    /// `STRING_LIST`
    public static let stringList: FieldType = "STRING_LIST"
    /// `INT64_LIST`
    public static let int64List: FieldType = "INT64_LIST"
    /// `DOUBLE_LIST`
    public static let doubleList: FieldType = "DOUBLE_LIST"
    /// `TIMESTAMP_LIST`
    public static let timestampList: FieldType = "TIMESTAMP_LIST"
    /// `BYTES_LIST`
    public static let bytesList: FieldType = "BYTES_LIST"
    /// `REFERENCE_LIST`
    public static let referenceList: FieldType = "REFERENCE_LIST"
    /// `ASSETID_LIST`, the service's spelling for lists of assets
    public static let assetList: FieldType = "ASSETID_LIST"
    /// `LOCATION_LIST`
    public static let locationList: FieldType = "LOCATION_LIST"
    /// `UNKNOWN_LIST`, an empty list of no known type
    public static let unknownList: FieldType = "UNKNOWN_LIST"
    /// `ENCRYPTED_BYTES`, in Apple's own containers
    public static let encryptedBytes: FieldType = "ENCRYPTED_BYTES"
}
