/// For caches: a record is encoded with its name, its change tag, the fields that its model does not have, and the
/// changes that are not saved yet. So it can be updated after it was decoded.
///
/// ```swift
/// let data = try JSONEncoder().encode(feed)
/// var cached = try JSONDecoder().decode(StoredRecord<Feed>.self, from: data)
/// cached.title = "Swift.org"
/// try await database.update(&cached)
/// ```
///
/// The encoded fields are those of the record type, so the model itself does not have to be `Codable`, and properties
/// with `@CloudKitIgnored` are not encoded. Encrypted fields are encoded as plain text: protect the cache accordingly.
/// The addresses in assets expire.
extension StoredRecord: Codable {
    private enum CodingKeys: String, CodingKey {
        /// The record as the service has it; absent when it was never saved.
        case saved
        /// The record with its unsaved changes; absent when there are none.
        case changed
    }

    /// Writes the record as the service has it and, where it differs, the record with its unsaved changes.
    ///
    /// - Parameter encoder: The encoder that takes both.
    /// - Throws: An `EncodingError` where a value has no form as a field, and what the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if let saved = content.isSaved ? content : content.saved {
            try container.encode(StoredRecord(saved).record, forKey: .saved)
        }
        if !content.isSaved {
            var changed = content.record
            do {
                changed.fields = try model.savedFields().withoutNulls
            } catch {
                throw EncodingError.invalidValue(
                    self,
                    EncodingError.Context(
                        codingPath: encoder.codingPath,
                        debugDescription: CloudKitError.unwritable(self, error).message
                    )
                )
            }
            for field in content.record.fields { changed.fields[field.name] = field.value }
            try container.encode(changed, forKey: .changed)
        }
    }

    /// Reads a record that was written by `encode(to:)`.
    ///
    /// - Parameter decoder: The decoder that gives the record.
    /// - Throws: A `DecodingError` where the fields do not fit the type, with the ``CloudKitError`` as the underlying
    ///   error.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func record(_ key: CodingKeys) throws -> StoredRecord? {
            guard let record = try container.decodeIfPresent(Record.self, forKey: key) else { return nil }
            switch StoredRecord.read(record) {
            case .success(let stored):
                return stored
            case .failure(let error):
                throw DecodingError.dataCorrupted(
                    DecodingError.Context(
                        codingPath: container.codingPath + [key],
                        debugDescription: error.message,
                        underlyingError: error
                    )
                )
            }
        }
        switch (try record(.saved), try record(.changed)) {
        case (let saved?, nil):
            self = saved
        case (let saved?, let changed?):
            self = saved.replacing(changed.model, parent: changed.parent)
        case (nil, let new?):
            self.init(Content(record: new.content.record, model: new.model, isSaved: false))
        case (nil, nil):
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "There is no record.")
            )
        }
    }
}
