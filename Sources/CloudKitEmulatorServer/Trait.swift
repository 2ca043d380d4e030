#if !CloudKitEmulatorServer
    #error(
        "CloudKitEmulatorServer is used, but its trait is disabled. Add \"CloudKitEmulatorServer\" to the traits of the package MistKit in Package.swift."
    )
#endif
