@_exported public import MistModels
