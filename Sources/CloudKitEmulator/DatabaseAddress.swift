package import CloudKitModel

/// The database that a request is for: the path segments of its URL between the version and the endpoint.
///
/// ```swift
/// DatabaseAddress("iCloud.com.example.app", .development, .public)
/// // /database/1/iCloud.com.example.app/development/public/…
/// ```
package struct DatabaseAddress: Hashable, Sendable {
    /// The container's identifier, such as `iCloud.com.example.app`.
    package var container: String
    /// The environment within the container.
    package var environment: ContainerEnvironment
    /// The database within the environment. The caller decides whose private or shared database it is.
    package var scope: DatabaseScope

    /// Makes an address.
    package init(_ container: String, _ environment: ContainerEnvironment, _ scope: DatabaseScope) {
        self.container = container
        self.environment = environment
        self.scope = scope
    }
}
