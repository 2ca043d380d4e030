#if !MistKit
    #error(
        "MistKit is used, but its trait is disabled. Add \"MistKit\" to the traits of the package MistKit in Package.swift."
    )
#endif
