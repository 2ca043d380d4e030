#if !OpenAPISwiftPlugin
    #error(
        "OpenAPISwiftGenerator is used, but its trait is disabled. Add \"OpenAPISwiftPlugin\" to the traits of the package MistKit in Package.swift."
    )
#endif
