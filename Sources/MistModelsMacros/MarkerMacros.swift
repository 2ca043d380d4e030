public import SwiftSyntax
public import SwiftSyntaxMacros

/// `@CloudKitField`: read by `@CloudKitRecord`, and writes nothing of its own.
public struct CloudKitFieldMacro: PeerMacro {
    /// Checks that there is a `@CloudKitRecord` around it that reads it.
    public static func expansion(
        of node: AttributeSyntax,
        providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        checkDeclaration(of: node, on: declaration, in: context)
        return []
    }
}

/// `@CloudKitIgnored`: read by `@CloudKitRecord`, and writes nothing of its own.
public struct CloudKitIgnoredMacro: PeerMacro {
    /// Checks that there is a `@CloudKitRecord` around it that reads it.
    public static func expansion(
        of node: AttributeSyntax,
        providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        checkDeclaration(of: node, on: declaration, in: context)
        return []
    }
}

/// `@CloudKitParent`: read by `@CloudKitRecord`, and writes nothing of its own.
public struct CloudKitParentMacro: PeerMacro {
    /// Checks that there is a `@CloudKitRecord` around it that reads it.
    public static func expansion(
        of node: AttributeSyntax,
        providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        checkDeclaration(of: node, on: declaration, in: context)
        return []
    }
}

private func checkDeclaration(
    of node: AttributeSyntax,
    on declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
) {
    let name = node.attributeName.trimmedDescription
    guard declaration.is(VariableDeclSyntax.self) else {
        context.diagnose(.notAProperty(node, name))
        return
    }
    guard let type = context.lexicalContext.first else { return }
    let attributes =
        type.as(StructDeclSyntax.self)?.attributes ?? type.as(ClassDeclSyntax.self)?.attributes
        ?? type.as(EnumDeclSyntax.self)?.attributes ?? type.as(ActorDeclSyntax.self)?.attributes
    if let attributes, attributes.named("CloudKitRecord") == nil {
        context.diagnose(.outsideOfRecord(node, name))
    }
}
