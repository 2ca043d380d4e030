/// A field of a record that has a file: the location of an asset, as long as the record has it.
///
/// An `Asset` that was read has an address that is valid for about an hour, and does not name its record. An
/// `AssetField` names the record, so that the client can fetch a new address.
///
/// ```swift
/// try await database.download(AssetField(\.photo, of: user), to: url)
/// try await database.download(AssetField("photo", of: "user-1"), to: url)
/// ```
public struct AssetField: Hashable, Sendable {
    /// The record's name.
    public var recordName: String
    /// The field's name.
    public var fieldName: String
    /// The record's zone; the default zone when `nil`.
    public var zoneID: ZoneID?
    /// The index of the file, if the field is a list.
    public var index: Int
    /// The asset, where the record was fetched already.
    package var asset: Asset?

    /// A field of a record by name. Its asset is looked up when it is needed.
    ///
    /// - Parameters:
    ///   - fieldName: The field's name.
    ///   - recordName: The record's name.
    ///   - zoneID: The record's zone; the default zone when `nil`.
    ///   - index: The index of the file, if the field is a list.
    public init(_ fieldName: String, of recordName: String, inZone zoneID: ZoneID? = nil, at index: Int = 0) {
        self.recordName = recordName
        self.fieldName = fieldName
        self.zoneID = zoneID
        self.index = index
    }

    /// A field of a record that was fetched.
    ///
    /// - Parameters:
    ///   - fieldName: The field's name.
    ///   - record: The record.
    ///   - index: The index of the file, if the field is a list.
    public init(_ fieldName: String, of record: Record, at index: Int = 0) {
        self.init(fieldName, of: record.recordName ?? "", inZone: record.zoneID, at: index)
        asset = record[fieldName]?.asset(at: index)
    }

    /// A field of a typed record.
    ///
    /// - Parameters:
    ///   - field: The field.
    ///   - record: The record.
    ///   - index: The index of the file, if the field is a list.
    public init<Model: CloudKitRecord>(
        _ field: KeyPath<Model.Fields, RecordField<some AssetStorable>>,
        of record: StoredRecord<Model>,
        at index: Int = 0
    ) {
        let name = Model.assetFieldName(field)
        self.init(name, of: record.recordName, inZone: record.zoneID, at: index)
        asset = record.record[name]?.asset(at: index)
    }
}

/// A type of fields for files: `Asset`, or an array of assets.
public protocol AssetStorable: FieldStorable {}

extension Asset: AssetStorable {}
extension Array: AssetStorable where Element == Asset {}

extension CloudKitRecord {
    static func assetFieldName(_ field: KeyPath<Fields, RecordField<some AssetStorable>>) -> String {
        "\(fields[keyPath: field].key)"
    }
}

extension FieldValue {
    func asset(at index: Int) -> Asset? {
        let assets = assetListValue ?? assetValue.map { [$0] } ?? []
        return assets.indices.contains(index) ? assets[index] : nil
    }
}

extension CloudKitDatabase {
    /// Looks up the present asset of a field.
    func fetchAsset(_ field: AssetField) async throws -> Asset {
        let record = try await fetch(field.recordName, inZone: field.zoneID, desiredKeys: [field.fieldName])
        guard let asset = record[field.fieldName]?.asset(at: field.index) else {
            var error = CloudKitError(
                code: .notFound,
                message: "The record has no file in its field '\(field.fieldName)'"
                    + (field.index > 0 ? " at \(field.index)." : ".")
            )
            error.item = .record(name: field.recordName)
            throw error
        }
        return asset
    }
}
