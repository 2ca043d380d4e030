#if !MistTesting
    #error(
        "MistTesting is used, but its trait is disabled. Add \"MistTesting\" to the traits of the package MistKit in Package.swift."
    )
#endif
