import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// A problem of a record's declaration: its syntax node, a sentence about it, and fixes if there are any.
struct Problem {
    var node: Syntax
    var id: String
    var message: String
    var severity = DiagnosticSeverity.error
    var fixIts: [FixIt] = []
}

extension MacroExpansionContext {
    func diagnose(_ problem: Problem) {
        diagnose(
            Diagnostic(
                node: problem.node,
                message: ProblemMessage(
                    message: problem.message,
                    diagnosticID: MessageID(domain: "MistModels", id: problem.id),
                    severity: problem.severity
                ),
                fixIts: problem.fixIts
            )
        )
    }
}

private struct ProblemMessage: DiagnosticMessage {
    let message: String
    let diagnosticID: MessageID
    let severity: DiagnosticSeverity
}

private struct Remedy: FixItMessage {
    let message: String
    let id: String

    var fixItID: MessageID { MessageID(domain: "MistModels", id: id) }
}

extension Problem {
    private init(
        _ node: some SyntaxProtocol,
        _ id: String,
        _ message: String,
        severity: DiagnosticSeverity = .error,
        fixIts: [FixIt] = []
    ) {
        self.init(node: Syntax(node), id: id, message: message, severity: severity, fixIts: fixIts)
    }

    private static func fix(_ message: String, _ old: some SyntaxProtocol, _ new: some SyntaxProtocol) -> FixIt {
        FixIt(
            message: Remedy(message: message, id: message),
            changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))]
        )
    }

    /// Removes an attribute from its declaration, which keeps its indentation and comments.
    private static func removal(of attribute: AttributeSyntax) -> [FixIt] {
        guard let list = attribute.parent?.as(AttributeListSyntax.self),
            let variable = list.parent?.as(VariableDeclSyntax.self)
        else { return [] }
        var rest = variable.with(\.attributes, list.filter { $0.id != attribute.id })
        rest.leadingTrivia = variable.leadingTrivia
        return [fix("Remove @\(attribute.attributeName.trimmedDescription)", variable, rest)]
    }

    /// Removes an argument from its attribute. If it is the only argument, removes the attribute.
    private static func removal(of argument: LabeledExprSyntax, in attribute: AttributeSyntax) -> [FixIt] {
        guard case .argumentList(let arguments)? = attribute.arguments, arguments.count > 1 else {
            return removal(of: attribute)
        }
        var rest: [LabeledExprSyntax] = []
        var label: (name: TokenSyntax?, colon: TokenSyntax?)?
        for var other in arguments {
            if other.id == argument.id {
                // The values after this argument belong to the same label, so the next one gets the label.
                if argument.label != nil { label = (argument.label, argument.colon) }
                continue
            }
            if let moved = label, other.label == nil {
                other.label = moved.name
                other.colon = moved.colon
            }
            label = nil
            rest.append(other)
        }
        rest[rest.count - 1].trailingComma = nil
        rest[rest.count - 1].trailingTrivia = []
        let changed = attribute.with(\.arguments, .argumentList(LabeledExprListSyntax(rest)))
        return [fix("Remove \(argument.expression.trimmedDescription)", attribute, changed)]
    }

    // MARK: The type

    static func notAStruct(_ declaration: some DeclGroupSyntax) -> Problem {
        let keyword = declaration.introducer
        var fixIts: [FixIt] = []
        if declaration.is(ClassDeclSyntax.self) {
            fixIts.append(fix("Make it a struct", keyword, keyword.with(\.tokenKind, .keyword(.struct))))
        }
        return Problem(
            keyword,
            "notAStruct",
            "@CloudKitRecord is for structs: a record is a value, whose old and new fields are compared",
            fixIts: fixIts
        )
    }

    static func generic(_ parameters: GenericParameterClauseSyntax) -> Problem {
        Problem(
            parameters,
            "generic",
            "a record has one type in the schema, so its struct cannot be generic"
        )
    }

    static func noFields(_ record: StructDeclSyntax) -> Problem {
        Problem(record.name, "noFields", "\(record.name.text) has no stored property that could be a field")
    }

    // MARK: Names

    static func notALiteral(_ expression: ExprSyntax, _ what: String) -> Problem {
        Problem(expression, "notALiteral", "the \(what)'s name must be a string literal without interpolations")
    }

    static func badName(_ expression: ExprSyntax, _ what: String, _ name: String) -> Problem {
        Problem(
            expression,
            "badName",
            "\"\(name)\" is not a valid name of a \(what): names begin with a letter and have only letters, digits and underscores"
        )
    }

    static func nameNeeded(_ property: TokenSyntax, _ name: String) -> Problem {
        Problem(
            property,
            "nameNeeded",
            """
            a field cannot be named \(name), as names begin with a letter and hold letters, digits and underscores; give it one \
            with @CloudKitField("name")
            """
        )
    }

    static func twice(_ binding: PatternBindingSyntax, _ name: String, _ other: String) -> Problem {
        Problem(binding.pattern, "twice", "the field \"\(name)\" already belongs to the property \(other)")
    }

    static func shadowed(_ binding: PatternBindingSyntax, _ name: String) -> Problem {
        Problem(
            binding.pattern,
            "shadowed",
            """
            a stored record has a property \(name) itself, so this one is read as record.model.\(name); name the property otherwise and \
            the field with @CloudKitField("\(name)") to avoid mistakes
            """,
            severity: .warning
        )
    }

    // MARK: Attributes

    static func notAProperty(_ attribute: AttributeSyntax, _ name: String) -> Problem {
        Problem(attribute, "notAProperty", "@\(name) belongs on a stored property")
    }

    static func outsideOfRecord(_ attribute: AttributeSyntax, _ name: String) -> Problem {
        Problem(
            attribute,
            "outsideOfRecord",
            "@\(name) does nothing here: put @CloudKitRecord before the type that the property is in"
        )
    }

    static func cannotBeField(_ attribute: AttributeSyntax, _ kind: String) -> Problem {
        Problem(
            attribute,
            "cannotBeField",
            "\(kind) holds no value of the record, so it cannot be a field",
            fixIts: removal(of: attribute)
        )
    }

    static func constant(_ variable: VariableDeclSyntax, _ attribute: AttributeSyntax) -> Problem {
        let specifier = variable.bindingSpecifier
        return Problem(
            specifier,
            "constant",
            "a let with a value is the same for all records, so it cannot be a field",
            fixIts: [fix("Make it a var", specifier, specifier.with(\.tokenKind, .keyword(.var)))]
                + removal(of: attribute)
        )
    }

    static func severalProperties(_ attribute: AttributeSyntax) -> Problem {
        Problem(
            attribute,
            "severalProperties",
            "a field's name is one property's; declare each property on its own line"
        )
    }

    static func fieldAndIgnored(_ ignored: AttributeSyntax, _ field: AttributeSyntax) -> Problem {
        Problem(
            ignored,
            "fieldAndIgnored",
            "a property is either a field or ignored",
            fixIts: removal(of: ignored) + removal(of: field)
        )
    }

    static func ignoredWithoutValue(_ binding: PatternBindingSyntax) -> Problem {
        Problem(
            binding.pattern,
            "ignoredWithoutValue",
            "a property that is ignored needs a default value, as a record that is read has none for it"
        )
    }

    static func encrypted(_ attribute: AttributeSyntax, _ type: String) -> Problem {
        Problem(
            attribute,
            "encrypted",
            type.contains("Asset")
                ? "files are encrypted without being asked; an Asset cannot be marked encrypted"
                : "references cannot be encrypted, as the service follows them",
            fixIts: removal(of: attribute)
        )
    }

    static func encryptedIndex(_ attribute: AttributeSyntax, _ index: String) -> Problem {
        Problem(
            attribute,
            "encryptedIndex",
            "the service cannot look into an encrypted field, so it cannot be \(index)"
        )
    }

    static func secondAttribute(_ attribute: AttributeSyntax, _ name: String) -> Problem {
        Problem(attribute, "secondAttribute", "a property has one @\(name); write all arguments into it")
    }

    // MARK: Parents

    static func twoParents(_ attribute: AttributeSyntax, _ other: String) -> Problem {
        Problem(
            attribute,
            "twoParents",
            "a record has one parent, and the property \(other) points to it already",
            fixIts: removal(of: attribute)
        )
    }

    static func parentInJSON(_ attribute: AttributeSyntax) -> Problem {
        Problem(
            attribute,
            "parentInJSON",
            "a parent is stored as a reference, not as JSON text",
            fixIts: removal(of: attribute)
        )
    }

    static func parentIsNoReference(_ attribute: AttributeSyntax, _ type: TypeSyntax) -> Problem {
        var fixIts: [FixIt] = []
        if type.spelledType != .list {
            let reference: TypeSyntax = "RecordReference<<#Record#>>"
            fixIts.append(
                fix("Make it a RecordReference", type, reference.with(\.trailingTrivia, type.trailingTrivia))
            )
        }
        return Problem(
            attribute,
            "parentIsNoReference",
            "a parent is a RecordReference or a Reference, and \(type.trimmedDescription) is neither",
            fixIts: fixIts + removal(of: attribute)
        )
    }

    // MARK: Merge policies and former names

    static func twoPolicies(
        _ second: LabeledExprSyntax,
        _ first: LabeledExprSyntax,
        _ attribute: AttributeSyntax
    ) -> Problem {
        let names = [first, second].map { $0.expression.trimmedDescription }
        return Problem(
            second.expression,
            "twoPolicies",
            "a field has one merge policy, so \(names[0]) and \(names[1]) exclude each other",
            fixIts: removal(of: second, in: attribute) + removal(of: first, in: attribute)
        )
    }

    static func mergedJSON(_ argument: LabeledExprSyntax, _ attribute: AttributeSyntax) -> Problem {
        Problem(
            argument.expression,
            "mergedJSON",
            "JSON text is merged as a whole, so it cannot have the policy \(argument.expression.trimmedDescription)",
            fixIts: removal(of: argument, in: attribute)
        )
    }

    static func unfitPolicy(
        _ policy: MergePolicy,
        _ argument: LabeledExprSyntax,
        _ attribute: AttributeSyntax,
        _ type: TypeSyntax
    ) -> Problem {
        let name = type.trimmedDescription
        var fixIts: [FixIt] = []
        let message: String
        switch policy {
        case .counter:
            message = "a counter is an integer such as Int, and \(name) is not one"
        case .greatest, .smallest:
            message = "\(argument.expression.trimmedDescription) is for text, numbers and dates; \(name) has no order"
        case .union where type.spelledType == .list:
            message = "a union compares the elements of its lists, and files are not compared"
        case .union:
            message = "a union is a list, and \(name) is not one"
            if let element = type.genericArgument(of: "Set") ?? (type.plainName == "Asset" ? nil : type) {
                let list = TypeSyntax(ArrayTypeSyntax(element: element.trimmed))
                fixIts.append(fix("Make it a list", type, list.with(\.trailingTrivia, type.trailingTrivia)))
            }
        }
        return Problem(
            argument.expression,
            "unfitPolicy",
            message,
            fixIts: fixIts + removal(of: argument, in: attribute)
        )
    }

    static func formerNameInUse(_ name: FormerName, _ attribute: AttributeSyntax?, _ use: String) -> Problem {
        Problem(
            name.argument.expression,
            "formerNameInUse",
            "\"\(name.text)\" is \(use), so it cannot be a former name",
            fixIts: attribute.map { removal(of: name.argument, in: $0) } ?? []
        )
    }

    // MARK: Types

    static func pattern(_ binding: PatternBindingSyntax) -> Problem {
        Problem(binding.pattern, "pattern", "a field is one property with a name; declare each on its own line")
    }

    static func noType(_ binding: PatternBindingSyntax) -> Problem {
        let pattern = binding.pattern.with(\.trailingTrivia, [])
        let annotation = TypeAnnotationSyntax(
            colon: .colonToken(trailingTrivia: .space),
            type: IdentifierTypeSyntax(name: .identifier("<#Type#>")),
            trailingTrivia: .space
        )
        let typed = binding.with(\.pattern, pattern).with(\.typeAnnotation, annotation)
        return Problem(
            binding.pattern,
            "noType",
            "the type of \(binding.pattern.trimmedDescription) must be written: a macro sees the source alone",
            fixIts: [fix("Write the type", binding, typed)]
        )
    }

    static func twiceOptional(_ type: TypeSyntax) -> Problem {
        Problem(
            type,
            "twiceOptional",
            "a field has a value or none, so an optional of an optional cannot be one",
            fixIts: type.optionalType.map { [fix("Make it one optional", type, $0.trimmed)] } ?? []
        )
    }

    static func optionalElement(_ element: TypeSyntax, _ wrapped: TypeSyntax) -> Problem {
        Problem(
            element,
            "optionalElement",
            "a list has no holes, so its elements cannot be optional",
            fixIts: [fix("Make the elements \(wrapped.trimmedDescription)", element, wrapped.trimmed)]
        )
    }

    static func noFieldType(_ type: TypeSyntax, _ what: String) -> Problem {
        Problem(type, "noFieldType", "the service has no type for \(what)")
    }

    static func needsJSON(
        _ type: TypeSyntax,
        _ variable: VariableDeclSyntax,
        _ attribute: AttributeSyntax?,
        _ what: String
    ) -> Problem {
        var fixIts: [FixIt] = []
        if attribute == nil {
            var marked = variable
            let trivia = variable.leadingTrivia
            marked.leadingTrivia = []
            marked.attributes.insert(
                .attribute(AttributeSyntax("@CloudKitField(.json) ").with(\.leadingTrivia, trivia)),
                at: marked.attributes.startIndex
            )
            fixIts.append(fix("Store it as JSON text", variable, marked))
        }
        return Problem(
            type,
            "needsJSON",
            "the service has no type for \(what); @CloudKitField(.json) stores it as JSON text",
            fixIts: fixIts
        )
    }
}
