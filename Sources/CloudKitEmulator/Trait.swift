#if !CloudKitEmulator
    #error(
        "CloudKitEmulator is used, but its trait is disabled. Add \"CloudKitEmulator\" to the traits of the package MistKit in Package.swift."
    )
#endif
