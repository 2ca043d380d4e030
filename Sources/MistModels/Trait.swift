#if !MistModels
    #error(
        "MistModels is used and its trait is off. Add \"MistModels\" to the traits of the package MistKit in Package.swift."
    )
#endif
