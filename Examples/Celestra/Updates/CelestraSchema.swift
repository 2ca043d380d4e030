import CloudKitSchema
import MistModels

/// The schema that a container needs for Celestra.
public enum CelestraSchema {
    /// The record types with their indexes. Everyone can read; only the server-to-server key that created a record can
    /// change it.
    ///
    /// ```swift
    /// print(try CelestraSchema.container())
    /// // DEFINE SCHEMA
    /// //     RECORD TYPE Feed ( …
    /// ```
    ///
    /// - Returns: The schema. Its description is a schema file.
    /// - Throws: A `CloudKitError` for a field whose type the schema language does not have. The records of Celestra
    ///   have no such field.
    public static func container() throws -> ContainerSchema {
        try ContainerSchema(of: FeedRecord.self, ArticleRecord.self)
    }
}
