import BushelSources
import CloudKitSchema
import MistModels

/// The schema that a container needs for Bushel.
public enum BushelSchema {
    /// The record types with their indexes. Everyone can read; only the server-to-server key that created a record can
    /// change it.
    ///
    /// - Returns: The schema. Its description is a schema file.
    /// - Throws: A `CloudKitError` for a field whose type the schema language does not have. The records of Bushel have
    ///   no such field.
    public static func container() throws -> ContainerSchema {
        try ContainerSchema(of: RestoreImage.self, XcodeVersion.self, SwiftVersion.self, DataSource.self)
    }
}
