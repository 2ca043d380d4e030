import CloudKitSchema
import MistModels

/// The schema that a container needs for Celestra.
public enum CelestraSchema {
    /// The record types with their indexes. Everyone reads, and the server-to-server key that created a record changes it.
    ///
    /// ```swift
    /// print(try CelestraSchema.container())
    /// // DEFINE SCHEMA
    /// //     RECORD TYPE Feed ( …
    /// ```
    ///
    /// - Returns: The schema. Its description is a schema file.
    /// - Throws: A `CloudKitError` for a type that the schema language does not have; these types have none.
    public static func container() throws -> ContainerSchema {
        try ContainerSchema(of: FeedRecord.self, ArticleRecord.self)
    }
}
