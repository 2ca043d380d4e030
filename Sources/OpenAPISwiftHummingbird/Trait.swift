#if !OpenAPISwiftHummingbird
    #error(
        "OpenAPISwiftHummingbird is used and its trait is off. Add \"OpenAPISwiftHummingbird\" to the traits of the package MistKit in Package.swift."
    )
#endif
