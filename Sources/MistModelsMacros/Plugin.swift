import SwiftCompilerPlugin
import SwiftSyntaxMacros

@main
struct MistModelsPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
        CloudKitRecordMacro.self, CloudKitFieldMacro.self, CloudKitIgnoredMacro.self, CloudKitParentMacro.self,
    ]
}
