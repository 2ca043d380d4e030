#if !CloudKitContract
    #error(
        "CloudKitContract is used, but its trait is disabled. Add \"CloudKitContract\" to the traits of the package MistKit in Package.swift."
    )
#endif
