import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacrosGenericTestSupport
import Testing

let macros: [String: MacroSpec] = [
    "CloudKitRecord": MacroSpec(type: CloudKitRecordMacro.self, conformances: ["CloudKitRecord"]),
    "CloudKitField": MacroSpec(type: CloudKitFieldMacro.self),
    "CloudKitIgnored": MacroSpec(type: CloudKitIgnoredMacro.self),
    "CloudKitParent": MacroSpec(type: CloudKitParentMacro.self),
]

/// Expands the macros in a source, and compares the expansion and the diagnostics.
func expectExpansion(
    of source: String,
    to expanded: String,
    diagnostics: [DiagnosticSpec] = [],
    applying fixIt: String? = nil,
    gives fixed: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    assertMacroExpansion(
        source,
        expandedSource: expanded,
        diagnostics: diagnostics,
        macroSpecs: macros,
        applyFixIts: fixIt.map { [$0] },
        fixedSource: fixed,
        failureHandler: { failure in
            Issue.record("\(failure.message)", sourceLocation: sourceLocation)
        }
    )
}
