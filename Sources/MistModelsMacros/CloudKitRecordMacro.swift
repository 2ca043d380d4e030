public import SwiftSyntax
import SwiftSyntaxBuilder
public import SwiftSyntaxMacros

/// `@CloudKitRecord`: writes a struct's conformance to `CloudKitRecord`.
public struct CloudKitRecordMacro: ExtensionMacro {
    /// Writes the extension, or reports what is wrong with the struct.
    public static func expansion(
        of node: AttributeSyntax,
        attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol,
        conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        guard let record = declaration.as(StructDeclSyntax.self) else {
            context.diagnose(.notAStruct(declaration))
            return []
        }
        if let parameters = record.genericParameterClause {
            context.diagnose(.generic(parameters))
            return []
        }
        let recordType = recordType(of: node, or: record.name.text, in: context)
        var reader = PropertyReader(context: context)
        for member in record.memberBlock.members {
            if let variable = member.decl.as(VariableDeclSyntax.self) { reader.read(variable) }
        }
        reader.checkFormerNames()
        guard let recordType, reader.isValid else { return [] }
        if reader.properties.isEmpty {
            context.diagnose(.noFields(record))
            return []
        }
        let access = record.modifiers.compactMap(Self.access).first
        let source = source(
            of: type.trimmedDescription,
            conformance: protocols.isEmpty ? "" : ": MistKit.CloudKitRecord",
            access: access,
            recordType: recordType,
            properties: reader.properties
        )
        return [try ExtensionDeclSyntax("\(raw: source)")]
    }

    /// The access level that a member of the extension needs to be a witness: the level of a `public` or `package`
    /// struct.
    private static func access(_ modifier: DeclModifierSyntax) -> String? {
        switch modifier.name.tokenKind {
        case .keyword(.public), .keyword(.package): "\(modifier.name.text) "
        default: nil
        }
    }

    private static func recordType(
        of node: AttributeSyntax,
        or name: String,
        in context: some MacroExpansionContext
    ) -> String? {
        guard case .argumentList(let arguments) = node.arguments, let argument = arguments.first else {
            return name
        }
        guard let text = argument.expression.plainText else {
            context.diagnose(.notALiteral(argument.expression, "record type"))
            return nil
        }
        guard text.isSchemaName else {
            context.diagnose(.badName(argument.expression, "record type", text))
            return nil
        }
        return text
    }

    private static func source(
        of type: String,
        conformance: String,
        access: String?,
        recordType: String,
        properties: [RecordProperty]
    ) -> String {
        let access = access ?? ""
        // The initialiser assigns nothing to `self` until nothing can fail any more. Otherwise the compiler copies each
        // string and array of the half-initialised struct.
        func lines(_ indentation: Int, _ text: (Int, RecordProperty) -> String) -> String {
            properties.enumerated()
                .map { String(repeating: " ", count: indentation) + text($0, $1) }
                .joined(separator: "\n")
        }
        return """
            extension \(type)\(conformance) {
                \(access)struct Fields: MistKit.RecordFieldSet {
            \(lines(8) { $1.fieldSetMember })
                }
                \(access)static let recordType: Swift.String = "\(recordType)"
                \(access)static let fields: Fields = Fields()
                \(access)static let fieldTable: MistKit.FieldTable = MistKit.FieldTable(
            \(lines(8) { index, property in "fields.\(property.name)" + (index == properties.count - 1 ? "" : ",") })
                )
                \(access)init(fields reader: inout MistKit.FieldReader) throws(MistKit.FieldError) {
            \(lines(8) { "var \($1.variable($0)): \($1.type)?" })
                    while let field: Swift.Int = try reader.next() {
                        switch field {
            \(lines(12) { "case \($0):\n                \($1.variable($0)) = \($1.reading)" })
                        default:
                            try reader.skip()
                        }
                    }
            \(lines(8) { "let \($1.constant($0)): \($1.type)\($1.isOptional ? "?" : "") = \($1.result($0))" })
            \(lines(8) { "self.\($1.name) = \($1.constant($0))" })
                }
                \(access)func write(fields writer: inout MistKit.FieldWriter) {
            \(lines(8) { $1.writing($0) })
                }
            }
            """
    }
}

extension ExprSyntax {
    /// The text of a string literal without interpolations.
    var plainText: String? {
        guard let literal = self.as(StringLiteralExprSyntax.self), literal.segments.count == 1,
            case .stringSegment(let segment)? = literal.segments.first
        else { return nil }
        return segment.content.text
    }
}

extension String {
    /// Whether the service accepts the text as the name of a record type or a field.
    var isSchemaName: Bool {
        guard let first = unicodeScalars.first, first.isLetter else { return false }
        return unicodeScalars.allSatisfy { $0.isLetter || ("0"..."9").contains($0) || $0 == "_" }
    }
}

extension Unicode.Scalar {
    fileprivate var isLetter: Bool { ("a"..."z").contains(self) || ("A"..."Z").contains(self) }
}
