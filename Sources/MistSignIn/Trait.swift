#if !MistSignIn
    #error(
        "MistSignIn is used, but its trait is disabled. Add \"MistSignIn\" to the traits of the package MistKit in Package.swift."
    )
#endif
