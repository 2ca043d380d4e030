#if !CloudKitEmulatorServer
    #error(
        "CloudKitEmulatorServer is used and its trait is off. Add \"CloudKitEmulatorServer\" to the traits of the package MistKit in Package.swift."
    )
#endif
