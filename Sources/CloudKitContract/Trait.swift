#if !CloudKitContract
    #error(
        "CloudKitContract is used and its trait is off. Add \"CloudKitContract\" to the traits of the package MistKit in Package.swift."
    )
#endif
