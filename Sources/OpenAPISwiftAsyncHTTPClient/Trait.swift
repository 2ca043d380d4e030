#if !OpenAPISwiftAsyncHTTPClient
    #error(
        "OpenAPISwiftAsyncHTTPClient is used, but its trait is disabled. Add \"OpenAPISwiftAsyncHTTPClient\" to the traits of the package MistKit in Package.swift."
    )
#endif
