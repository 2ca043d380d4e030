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
