import SwiftSyntax

/// A stored property that is a field of the record.
struct RecordProperty {
    /// The property's name as it is written, with backticks where it needs them.
    var name: String
    /// Where it is written.
    var node: PatternBindingSyntax
    /// The field's name.
    var field: String
    /// The type without the optional.
    var type: String
    var isOptional: Bool
    var isList: Bool
    var defaultValue: String?
    /// `private` or another level, where one is written.
    var access: String?
    var options: Set<String>

    var isEncrypted: Bool { options.contains("encrypted") }
    var isJSON: Bool { options.contains("json") }

    /// The type that the field is read and written as.
    var storedType: String { isJSON ? "MistKit.JSONText<\(type)>" : type }

    /// The member of the field set.
    var fieldSetMember: String {
        let indexes = ["queryable", "sortable", "searchable"].filter(options.contains)
        let argument = indexes.isEmpty ? "" : ", indexes: [\(indexes.map { ".\($0)" }.joined(separator: ", "))]"
        // A private type may be a private property's, and the field set is a type of its own.
        let access = access.map { $0 == "private" ? "fileprivate " : "\($0) " } ?? ""
        let kind = isEncrypted ? "EncryptedRecordField" : "RecordField"
        return "\(access)let \(name) = MistKit.\(kind)(\"\(field)\", of: \(storedType).self\(argument))"
    }

    /// The variable that the value is read into.
    func variable(_ index: Int) -> String { "value\(index)" }

    /// The constant that holds what the property gets after all fields were read.
    func constant(_ index: Int) -> String { "property\(index)" }

    /// What the property gets.
    func result(_ index: Int) -> String {
        let variable = isJSON ? "\(variable(index))?.value" : variable(index)
        // Even with a default value: a field that was cleared must come back as nothing.
        if isOptional { return variable }
        if let defaultValue {
            let value = defaultValue.contains(" ") ? "(\(defaultValue))" : defaultValue
            return "\(variable) ?? \(value)"
        }
        if isList, !isJSON { return "\(variable) ?? []" }
        return "try reader.required(\(variable), \(index))"
    }

    /// The call that writes it.
    func writing(_ index: Int) -> String {
        guard isJSON else { return "writer.write(\(index), self.\(name))" }
        if isOptional { return "writer.write(\(index), self.\(name).map { MistKit.JSONText($0) })" }
        return "writer.write(\(index), MistKit.JSONText(self.\(name)))"
    }
}

extension AttributeListSyntax {
    /// The attribute of a name, with or without a module before it.
    func named(_ name: String) -> AttributeSyntax? {
        for case .attribute(let attribute) in self {
            let written = attribute.attributeName.trimmedDescription
            if written == name || written == "MistModels.\(name)" { return attribute }
        }
        return nil
    }
}
