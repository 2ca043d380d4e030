public import StreamingJSON

/// One of the three databases of a container, the `{database}` of a request's path.
public enum DatabaseScope: String, Hashable, Sendable, Codable, CaseIterable {
    /// What everybody shares; the only one that a server key opens.
    case `public`
    /// What belongs to the signed-in user.
    case `private`
    /// What others share with the signed-in user.
    case shared
}

/// One of the two environments of a container, the `{environment}` of a request's path.
public enum ContainerEnvironment: String, Hashable, Sendable, Codable, CaseIterable {
    /// For developers: the schema can be changed.
    case development
    /// For the apps that people use.
    case production
}

extension DatabaseScope: JSONReadable, JSONWritable {
    /// Reads the scope by its name in paths.
    public init(json reader: inout JSONReader) throws(JSONError) {
        let name: String = try reader.readString()
        guard let scope = DatabaseScope(rawValue: name) else {
            throw reader.error(.invalidValue, "'\(name)' is no database; public, private and shared are.")
        }
        self = scope
    }

    /// Writes the scope's name in paths.
    public func write(json writer: inout JSONWriter) {
        writer.write(rawValue)
    }
}

extension ContainerEnvironment: JSONReadable, JSONWritable {
    /// Reads the environment by its name in paths.
    public init(json reader: inout JSONReader) throws(JSONError) {
        let name: String = try reader.readString()
        guard let environment = ContainerEnvironment(rawValue: name) else {
            throw reader.error(.invalidValue, "'\(name)' is no environment; development and production are.")
        }
        self = environment
    }

    /// Writes the environment's name in paths.
    public func write(json writer: inout JSONWriter) {
        writer.write(rawValue)
    }
}
