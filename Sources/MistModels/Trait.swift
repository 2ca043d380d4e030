#if !MistModels
    #error(
        "MistModels is used, but its trait is disabled. Add \"MistModels\" to the traits of the package MistKit in Package.swift."
    )
#endif
