public import OpenAPISwiftRuntime

#if OpenAPISwiftAsyncHTTPClient
    import OpenAPISwiftAsyncHTTPClient
#elseif OpenAPISwiftURLSession
    import OpenAPISwiftURLSession
#else
    #error(
        "MistKit needs a transport: add \"OpenAPISwiftAsyncHTTPClient\" or \"OpenAPISwiftURLSession\" to the traits of the package."
    )
#endif

extension CloudKitService {
    #if OpenAPISwiftAsyncHTTPClient
        /// The transport of a service that is made without one. All services of the process share its connections.
        ///
        /// It is an `AsyncHTTPClientTransport`. With the trait `OpenAPISwiftURLSession` and without
        /// `OpenAPISwiftAsyncHTTPClient`, it is a `URLSessionTransport`. Neither follows redirects.
        public static let defaultTransport: any ClientTransport = AsyncHTTPClientTransport()

        /// The transport for files of a service that is made without one. It has connections of its own, and a transfer
        /// fails when no byte arrives or leaves for a minute.
        ///
        /// Its type is that of ``defaultTransport``. On Linux a `URLSessionTransport` reads each part of an upload into memory.
        public static let defaultAssetTransport: any ClientTransport = AsyncHTTPClientTransport(
            configuration: .transfers
        )
    #elseif OpenAPISwiftURLSession
        /// The transport of a service that is made without one: a `URLSessionTransport` that hands redirects to the caller.
        public static let defaultTransport: any ClientTransport = URLSessionTransport(configuration: .direct)

        /// The transport for files of a service that is made without one: a `URLSessionTransport` with connections of its own.
        public static let defaultAssetTransport: any ClientTransport = URLSessionTransport(configuration: .direct)
    #endif
}
