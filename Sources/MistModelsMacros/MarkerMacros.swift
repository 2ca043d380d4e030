public import SwiftSyntax
public import SwiftSyntaxMacros

/// `@CloudKitField`: `@CloudKitRecord` reads it; the macro itself writes no code.
public struct CloudKitFieldMacro: PeerMacro {
    /// Checks that the attribute is on a property, and that the type around the property has `@CloudKitRecord`.
    public static func expansion(
        of node: AttributeSyntax,
        providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        checkDeclaration(of: node, on: declaration, in: context)
        return []
    }
}

/// `@CloudKitIgnored`: `@CloudKitRecord` reads it; the macro itself writes no code.
public struct CloudKitIgnoredMacro: PeerMacro {
    /// Checks that the attribute is on a property, and that the type around the property has `@CloudKitRecord`.
    public static func expansion(
        of node: AttributeSyntax,
        providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        checkDeclaration(of: node, on: declaration, in: context)
        return []
    }
}

/// `@CloudKitParent`: `@CloudKitRecord` reads it; the macro itself writes no code.
public struct CloudKitParentMacro: PeerMacro {
    /// Checks that the attribute is on a property, and that the type around the property has `@CloudKitRecord`.
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
