package import CloudKitEmulatorServer

extension CloudKitEmulatorServer.ServedPage {
    /// The console's page.
    ///
    /// - Parameters:
    ///   - access: Who may use the page.
    ///   - isReadOnly: Whether the writes of the page are refused.
    ///   - profileUser: The user record name of the folder's user.
    /// - Returns: The page, for the configuration of a server.
    package static func console(
        access: PageAccess,
        isReadOnly: Bool = false,
        profileUser: String? = nil
    ) -> CloudKitEmulatorServer.ServedPage {
        .init(files: .console, access: access, isReadOnly: isReadOnly, profileUser: profileUser)
    }
}
