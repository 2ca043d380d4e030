#if !OpenAPISwiftPlugin
    #error(
        "OpenAPISwiftGenerator is used and its trait is off. Add \"OpenAPISwiftPlugin\" to the traits of the package MistKit in Package.swift."
    )
#endif
