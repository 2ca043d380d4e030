@_exported public import MistKit
