#if !CloudKitEmulator
    #error(
        "CloudKitEmulator is used and its trait is off. Add \"CloudKitEmulator\" to the traits of the package MistKit in Package.swift."
    )
#endif
