#if !MistStore
    #error(
        "MistStore is used and its trait is off. Add \"MistStore\" to the traits of the package MistKit in Package.swift."
    )
#endif
