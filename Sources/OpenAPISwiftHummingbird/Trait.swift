#if !OpenAPISwiftHummingbird
    #error(
        "OpenAPISwiftHummingbird is used, but its trait is disabled. Add \"OpenAPISwiftHummingbird\" to the traits of the package MistKit in Package.swift."
    )
#endif
