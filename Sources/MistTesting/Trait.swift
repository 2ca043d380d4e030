#if !MistTesting
    #error(
        "MistTesting is used and its trait is off. Add \"MistTesting\" to the traits of the package MistKit in Package.swift."
    )
#endif
