#if !MistSignIn
    #error(
        "MistSignIn is used and its trait is off. Add \"MistSignIn\" to the traits of the package MistKit in Package.swift."
    )
#endif
