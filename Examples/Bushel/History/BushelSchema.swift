import BushelSources
import CloudKitSchema
import MistModels

/// The schema that a container needs for Bushel.
public enum BushelSchema {
    /// The record types with their indexes. Everyone reads, and the server-to-server key that created a record changes it.
    ///
    /// - Returns: The schema. Its description is a schema file.
    /// - Throws: A `CloudKitError` for a type that the schema language does not have; these types have none.
    public static func container() throws -> ContainerSchema {
        try ContainerSchema(of: RestoreImage.self, XcodeVersion.self, SwiftVersion.self, DataSource.self)
    }
}
