public import OpenAPISwiftRuntime

#if Everything || Client
    import OpenAPISwiftAsyncHTTPClient
#elseif ClientWithURLSession
    import OpenAPISwiftURLSession
#else
    #error(
        "The preset of the package MistKit has no client. Name \"Client\" or \"ClientWithURLSession\" in its traits in Package.swift."
    )
#endif

extension CloudKitService {
    #if Everything || Client
        /// The transport of a service that is made without one. All services of the process share its connections.
        ///
        /// It is an `AsyncHTTPClientTransport`. With the trait `ClientWithURLSession` it is a `URLSessionTransport`.
        /// Neither follows redirects.
        public static let defaultTransport: any ClientTransport = AsyncHTTPClientTransport()

        /// The transport for files of a service that is made without one. It has connections of its own, and a transfer
        /// fails when no byte arrives or leaves for a minute.
        ///
        /// Its type is that of ``defaultTransport``. On Linux a `URLSessionTransport` reads each part of an upload into memory.
        public static let defaultAssetTransport: any ClientTransport = AsyncHTTPClientTransport(
            configuration: .transfers
        )
    #elseif ClientWithURLSession
        /// The transport of a service that is made without one: a `URLSessionTransport` that hands redirects to the caller.
        public static let defaultTransport: any ClientTransport = URLSessionTransport(configuration: .direct)

        /// The transport for files of a service that is made without one: a `URLSessionTransport` with connections of its own.
        public static let defaultAssetTransport: any ClientTransport = URLSessionTransport(configuration: .direct)
    #endif
}
