#if !MistStore
    #error(
        "MistStore is used, but its trait is disabled. Add \"MistStore\" to the traits of the package MistKit in Package.swift."
    )
#endif
