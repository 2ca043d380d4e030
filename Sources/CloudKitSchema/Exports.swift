@_exported public import CloudKitModel
