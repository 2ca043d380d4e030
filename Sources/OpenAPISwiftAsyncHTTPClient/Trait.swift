#if !OpenAPISwiftAsyncHTTPClient
    #error(
        "OpenAPISwiftAsyncHTTPClient is used and its trait is off. Add \"OpenAPISwiftAsyncHTTPClient\" to the traits of the package MistKit in Package.swift."
    )
#endif
