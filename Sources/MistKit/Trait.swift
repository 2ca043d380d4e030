#if !MistKit
    #error(
        "MistKit is used and its trait is off. Add \"MistKit\" to the traits of the package MistKit in Package.swift."
    )
#endif
