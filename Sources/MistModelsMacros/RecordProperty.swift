import SwiftSyntax

/// A stored property that is a field of the record.
struct RecordProperty {
    /// The property's name as it is written in the source, with backticks if it needs them.
    var name: String
    /// Its `@CloudKitField`.
    var attribute: AttributeSyntax?
    /// The field's name.
    var field: String
    /// The type without the optional.
    var type: String
    var isOptional: Bool
    var isList: Bool
    var defaultValue: String?
    /// The access level, such as `private`; `nil` if none is written.
    var access: String?
    var options: Set<String>
    var merge: MergePolicy?
    var formerNames: [FormerName]
    var isParent: Bool

    var isEncrypted: Bool { options.contains("encrypted") }
    var isJSON: Bool { options.contains("json") }

    /// The label of the type or value in calls that read and write the field. The calls for JSON have declarations for
    /// types that are not `Codable`, whose errors say so.
    private var label: String { isJSON ? "json: " : "" }

    /// The call that reads the property.
    var reading: String { "try reader.value(\(label)\(type).self)" }

    /// The member of the field set.
    var fieldSetMember: String {
        let indexes = ["queryable", "sortable", "searchable"].filter(options.contains)
        var arguments = "\"\(field)\", \(isJSON ? "json" : "of"): \(type).self"
        if !indexes.isEmpty { arguments += ", indexes: [\(indexes.map { ".\($0)" }.joined(separator: ", "))]" }
        if let merge { arguments += ", merge: .\(merge)" }
        if !formerNames.isEmpty {
            arguments += ", formerly: [\(formerNames.map { "\"\($0.text)\"" }.joined(separator: ", "))]"
        }
        if isParent { arguments += ", isParent: true" }
        // A private property may have a private type, so its member must not be visible outside of the file. `private`
        // would hide the member, because the field set is another type.
        let access = access.map { $0 == "private" ? "fileprivate " : "\($0) " } ?? ""
        let kind = isEncrypted ? "EncryptedRecordField" : "RecordField"
        return "\(access)let \(name) = MistKit.\(kind)(\(arguments))"
    }

    /// The variable that the value is read into.
    func variable(_ index: Int) -> String { "value\(index)" }

    /// The constant with the property's value, which is made after all fields were read.
    func constant(_ index: Int) -> String { "property\(index)" }

    /// The expression for the property's value.
    func result(_ index: Int) -> String {
        let variable = variable(index)
        // Also with a default value: a cleared field must be read as `nil`.
        if isOptional { return variable }
        if let defaultValue {
            let value = defaultValue.contains(" ") ? "(\(defaultValue))" : defaultValue
            return "\(variable) ?? \(value)"
        }
        if isList, !isJSON { return "\(variable) ?? []" }
        return "try reader.required(\(variable), \(index))"
    }

    /// The call that writes the property.
    func writing(_ index: Int) -> String { "writer.write(\(index), \(label)self.\(name))" }
}

/// A name that a field had in an earlier version of the program.
struct FormerName {
    var text: String
    /// The argument of the attribute.
    var argument: LabeledExprSyntax
}

extension AttributeListSyntax {
    /// The first attribute with a name.
    func named(_ name: String) -> AttributeSyntax? { all(named: name).first }

    /// The attributes with a name, written with or without the module's name.
    func all(named name: String) -> [AttributeSyntax] {
        compactMap { element in
            guard case .attribute(let attribute) = element else { return nil }
            let written = attribute.attributeName.trimmedDescription
            return written == name || written == "MistModels.\(name)" ? attribute : nil
        }
    }
}
