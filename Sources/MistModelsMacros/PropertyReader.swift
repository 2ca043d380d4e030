import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// Finds the fields among a struct's properties, and reports properties that should be fields but cannot be.
struct PropertyReader<Context: MacroExpansionContext> {
    let context: Context
    private(set) var properties: [RecordProperty] = []
    /// Whether no problem was found.
    private(set) var isValid = true

    init(context: Context) {
        self.context = context
    }

    private mutating func refuse(_ problem: Problem) {
        context.diagnose(problem)
        isValid = false
    }

    mutating func read(_ variable: VariableDeclSyntax) {
        for name in ["CloudKitField", "CloudKitParent", "CloudKitIgnored"] {
            if let second = variable.attributes.all(named: name).dropFirst().first {
                return refuse(.secondAttribute(second, name))
            }
        }
        let field = variable.attributes.named("CloudKitField")
        let parent = variable.attributes.named("CloudKitParent")
        let ignored = variable.attributes.named("CloudKitIgnored")
        // Both attributes make the property a field.
        let marker = field ?? parent
        if let marker, let ignored {
            return refuse(.fieldAndIgnored(ignored, marker))
        }
        if let kind = variable.kindThatIsNoField {
            if let marker { refuse(.cannotBeField(marker, kind)) }
            return
        }
        for binding in variable.bindings {
            let isConstant = variable.bindingSpecifier.tokenKind == .keyword(.let)
            if let field, variable.bindings.count > 1, field.namesAField {
                return refuse(.severalProperties(field))
            }
            if binding.isComputed {
                if let marker { refuse(.cannotBeField(marker, "a computed property")) }
                continue
            }
            if ignored != nil {
                if isConstant ? binding.initializer == nil : !binding.hasDefaultValue {
                    refuse(.ignoredWithoutValue(binding))
                }
                continue
            }
            if isConstant, binding.initializer != nil {
                if let marker { refuse(.constant(variable, marker)) }
                continue
            }
            // In a list such as `var latitude, longitude: Double`, the type follows a later property.
            let type = binding.typeAnnotation?.type ?? binding.typeOfFollowing
            read(binding, type: type, of: variable, field: field, parent: parent)
        }
    }

    private mutating func read(
        _ binding: PatternBindingSyntax,
        type annotation: TypeSyntax?,
        of variable: VariableDeclSyntax,
        field attribute: AttributeSyntax?,
        parent: AttributeSyntax?
    ) {
        guard let identifier = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier else {
            return refuse(.pattern(binding))
        }
        guard let arguments = fieldArguments(attribute, property: identifier) else { return }
        guard let type = annotation ?? binding.initializer?.value.typeOfLiteral else {
            return refuse(.noType(binding))
        }
        let whole = type.optionalType ?? type
        let isJSON = arguments.options.contains("json")
        if let parent, let problem = problem(ofParent: parent, type: whole, isJSON: isJSON) {
            return refuse(problem)
        }
        if let attribute, let (policy, argument) = arguments.merge {
            if isJSON { return refuse(.mergedJSON(argument, attribute)) }
            if whole.optionalType == nil, !policy.fits(whole) {
                return refuse(.unfitPolicy(policy, argument, attribute, whole))
            }
        }
        if let problem = whole.problem(isJSON: isJSON, of: variable, attribute: attribute) { return refuse(problem) }
        let name = whole.trimmedDescription
        if arguments.options.contains("encrypted"), let attribute, !isJSON, parent != nil || whole.cannotBeEncrypted {
            return refuse(.encrypted(attribute, name))
        }
        if let other = properties.first(where: { $0.field == arguments.name }) {
            return refuse(.twice(binding, arguments.name, other.name))
        }
        if isShadowed(identifier.plainName) { context.diagnose(.shadowed(binding, identifier.plainName)) }
        properties.append(
            RecordProperty(
                name: identifier.text,
                attribute: attribute,
                field: arguments.name,
                type: name,
                isOptional: type.optionalType != nil,
                isList: whole.elementType != nil,
                defaultValue: binding.initializer?.value.trimmedDescription,
                access: variable.modifiers.compactMap(\.accessLevel).first,
                options: arguments.options,
                merge: arguments.merge?.policy,
                formerNames: arguments.formerNames,
                isParent: parent != nil
            )
        )
    }

    private func problem(ofParent attribute: AttributeSyntax, type: TypeSyntax, isJSON: Bool) -> Problem? {
        if isJSON { return .parentInJSON(attribute) }
        if ![.reference, .unknown].contains(type.spelledType) { return .parentIsNoReference(attribute, type) }
        return properties.first(where: \.isParent).map { .twoParents(attribute, $0.name) }
    }

    /// Reports former names that are names of fields, or former names of other fields. Call it after all properties
    /// were read.
    mutating func checkFormerNames() {
        var uses: [String: String] = [:]
        for property in properties { uses[property.field] = "the name of the property \(property.name)'s field" }
        for property in properties {
            for name in property.formerNames {
                if let use = uses[name.text] {
                    refuse(.formerNameInUse(name, property.attribute, use))
                } else {
                    uses[name.text] = "a former name of the property \(property.name)'s field already"
                }
            }
        }
    }

    /// The arguments of a property's `@CloudKitField`.
    private struct FieldArguments {
        var name: String
        var options: Set<String> = []
        var merge: (policy: MergePolicy, argument: LabeledExprSyntax)?
        var formerNames: [FormerName] = []
    }

    /// The attribute's arguments; `nil` when they are wrong, after a diagnostic.
    private mutating func fieldArguments(
        _ attribute: AttributeSyntax?,
        property: TokenSyntax
    ) -> FieldArguments? {
        var result = FieldArguments(name: property.plainName)
        var isFormer = false
        if let attribute, case .argumentList(let arguments)? = attribute.arguments {
            for argument in arguments {
                // The values after the label `formerly` belong to it.
                if argument.label != nil { isFormer = true }
                if let member = argument.expression.as(MemberAccessExprSyntax.self) {
                    let option = member.declName.baseName.text
                    if let policy = MergePolicy(rawValue: option) {
                        if let first = result.merge?.argument {
                            refuse(.twoPolicies(argument, first, attribute))
                            return nil
                        }
                        result.merge = (policy, argument)
                    }
                    result.options.insert(option)
                } else if let text = argument.expression.plainText {
                    guard text.isSchemaName else {
                        refuse(.badName(argument.expression, "field", text))
                        return nil
                    }
                    if isFormer {
                        result.formerNames.append(FormerName(text: text, argument: argument))
                    } else {
                        result.name = text
                    }
                } else {
                    refuse(.notALiteral(argument.expression, "field"))
                    return nil
                }
            }
        }
        let options = result.options
        if let attribute, options.contains("encrypted"),
            let index = ["queryable", "sortable", "searchable"].first(where: options.contains)
        {
            refuse(.encryptedIndex(attribute, index))
            return nil
        }
        if !result.name.isSchemaName {
            refuse(.nameNeeded(property, result.name))
            return nil
        }
        return result
    }

    /// Whether `StoredRecord` itself has a property of this name.
    private func isShadowed(_ name: String) -> Bool {
        [
            "model", "recordName", "recordChangeTag", "zoneID", "created", "modified", "parent", "share", "shortGUID",
            "otherFields", "original", "hasChanges", "changedFields", "record",
        ].contains(name)
    }
}

extension TokenSyntax {
    /// The name without backticks.
    fileprivate var plainName: String { text.filter { $0 != "`" } }
}

extension DeclModifierSyntax {
    fileprivate var accessLevel: String? {
        // `private(set)` does not restrict reading.
        guard detail == nil else { return nil }
        switch name.tokenKind {
        case .keyword(.public), .keyword(.package), .keyword(.internal), .keyword(.fileprivate), .keyword(.private):
            return name.text
        default:
            return nil
        }
    }
}

extension AttributeSyntax {
    /// Whether the attribute gives the field a name.
    fileprivate var namesAField: Bool {
        guard case .argumentList(let list)? = arguments else { return false }
        return list.contains { $0.expression.is(StringLiteralExprSyntax.self) }
    }
}

extension VariableDeclSyntax {
    /// Why no property of the declaration can be a field: their kind; `nil` if they can be fields.
    fileprivate var kindThatIsNoField: String? {
        for modifier in modifiers {
            switch modifier.name.tokenKind {
            case .keyword(.static), .keyword(.class): return "a static property"
            case .keyword(.lazy): return "a lazy property"
            default: break
            }
        }
        return nil
    }
}

extension PatternBindingSyntax {
    /// Whether the property is computed.
    fileprivate var isComputed: Bool {
        switch accessorBlock?.accessors {
        case nil: false
        case .getter: true
        case .accessors(let accessors):
            !accessors.allSatisfy {
                [.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind)
            }
        }
    }

    /// Whether the property has a value before an initialiser assigns one.
    fileprivate var hasDefaultValue: Bool {
        initializer != nil || typeAnnotation?.type.optionalType != nil
    }

    /// The type of the next property in the list that has a type annotation.
    fileprivate var typeOfFollowing: TypeSyntax? {
        guard initializer == nil, let list = parent?.as(PatternBindingListSyntax.self) else { return nil }
        return list.drop { $0.id != id }.lazy.compactMap { $0.typeAnnotation?.type }.first
    }
}

extension ExprSyntax {
    /// The type of a literal.
    fileprivate var typeOfLiteral: TypeSyntax? {
        if self.is(StringLiteralExprSyntax.self) { return "Swift.String" }
        if self.is(IntegerLiteralExprSyntax.self) { return "Swift.Int" }
        if self.is(FloatLiteralExprSyntax.self) { return "Swift.Double" }
        if self.is(BooleanLiteralExprSyntax.self) { return "Swift.Bool" }
        if let negative = self.as(PrefixOperatorExprSyntax.self), negative.operator.text == "-" {
            return negative.expression.typeOfLiteral
        }
        return nil
    }
}

extension TypeSyntax {
    /// The wrapped type of an optional; `nil` for other types.
    var optionalType: TypeSyntax? {
        if let optional = self.as(OptionalTypeSyntax.self) { return optional.wrappedType }
        if let optional = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return optional.wrappedType }
        return genericArgument(of: "Optional")
    }

    /// The type of an array's elements.
    var elementType: TypeSyntax? {
        if let array = self.as(ArrayTypeSyntax.self) { return array.element }
        return genericArgument(of: "Array")
    }

    /// The first argument of a generic type of the standard library; `nil` for other types.
    func genericArgument(of name: String) -> TypeSyntax? {
        let arguments: GenericArgumentListSyntax?
        if let type = self.as(IdentifierTypeSyntax.self), type.name.text == name {
            arguments = type.genericArgumentClause?.arguments
        } else if let type = self.as(MemberTypeSyntax.self), type.name.text == name,
            type.baseType.trimmedDescription == "Swift"
        {
            arguments = type.genericArgumentClause?.arguments
        } else {
            return nil
        }
        guard let first = arguments?.first, case .type(let argument) = first.argument else { return nil }
        return argument
    }

    /// The type's name without its module and its arguments; `nil` for a type without a name, such as a tuple.
    var plainName: String? {
        self.as(IdentifierTypeSyntax.self)?.name.text ?? self.as(MemberTypeSyntax.self)?.name.text
    }

    /// Whether the service does not encrypt values of the type.
    var cannotBeEncrypted: Bool {
        ["Asset", "Reference", "RecordReference"].contains((elementType ?? self).plainName ?? "")
    }

    /// What is wrong with a field's type, as far as its spelling shows it. The compiler finds the other problems.
    func problem(isJSON: Bool, of variable: VariableDeclSyntax, attribute: AttributeSyntax?) -> Problem? {
        if optionalType != nil { return .twiceOptional(self) }
        if isJSON { return nil }
        if let element = elementType {
            if let wrapped = element.optionalType { return .optionalElement(element, wrapped) }
            if element.elementType != nil { return .needsJSON(self, variable, attribute, "a list of lists") }
            return element.problemOfValue(in: self, of: variable, attribute: attribute)
        }
        return problemOfValue(in: self, of: variable, attribute: attribute)
    }

    private func problemOfValue(
        in whole: TypeSyntax,
        of variable: VariableDeclSyntax,
        attribute: AttributeSyntax?
    ) -> Problem? {
        if self.is(DictionaryTypeSyntax.self) || plainName == "Dictionary" {
            return .needsJSON(whole, variable, attribute, "a dictionary")
        }
        if plainName == "Set" { return .needsJSON(whole, variable, attribute, "a set") }
        if self.is(TupleTypeSyntax.self) { return .noFieldType(whole, "a tuple") }
        if self.is(FunctionTypeSyntax.self) { return .noFieldType(whole, "a function") }
        if self.is(SomeOrAnyTypeSyntax.self) || plainName == "Any" {
            return .noFieldType(whole, "a type that is not known")
        }
        return nil
    }
}
