import CloudKitModel

/// A part of a schema that breaks a rule, although the schema's syntax is valid.
public struct SchemaProblem: Hashable, Sendable, CustomStringConvertible {
    /// The problem, as a sentence.
    public var message: String
    /// The location in the text; `nil` for a schema that was not read from a file.
    public var location: SchemaLocation?

    init(_ message: String, _ location: SchemaLocation? = nil) {
        self.message = message
        self.location = location
    }

    /// The message.
    ///
    /// For a schema that was read from a file, the location comes before it, and the line of the file after it.
    public var description: String {
        location.map { "\($0): \(message)\n\($0.excerpt)" } ?? message
    }
}

extension ContainerSchema {
    /// Everything that breaks a rule of schemas.
    ///
    /// ``SchemaDocument/problems()`` has the locations as well.
    ///
    /// ```swift
    /// let note = ContainerSchema.RecordType(
    ///     name: "Note",
    ///     fields: [ContainerSchema.Field(name: "picture", type: .asset, indexes: .queryable)]
    /// )
    /// print(ContainerSchema(recordTypes: [note]).problems())
    /// // [Note.picture cannot be QUERYABLE: a field of type ASSET has no indexes.]
    /// ```
    ///
    /// - Returns: The problems; empty for a schema that the service can import.
    public func problems() -> [SchemaProblem] { violations().map { SchemaProblem($0.message) } }
}

/// A broken rule, with the part of the schema that breaks it.
struct SchemaViolation {
    /// Positions in the lists of a schema.
    enum Subject {
        case role(Int)
        case recordType(Int)
        case field(type: Int, Int)
        case grant(type: Int, Int)
    }

    var subject: Subject
    var message: String
}

// MARK: - Rules

extension ContainerSchema {
    /// Checks the rules of section "The schema language" of the protocol reference on the whole schema.
    func violations() -> [SchemaViolation] {
        var violations: [SchemaViolation] = []
        var names: Set<String> = []
        for (index, role) in roles.enumerated() {
            let message: String? =
                if PredefinedRole(rawValue: role) != nil {
                    "Every container has the role \(role); it is not created."
                } else if let problem = Self.problem(ofName: role) {
                    "The name of the role \"\(role)\" \(problem)."
                } else if !names.insert(role).inserted {
                    "The role \"\(role)\" is created twice."
                } else {
                    nil
                }
            if let message { violations.append(SchemaViolation(subject: .role(index), message: message)) }
        }
        names = []
        for (index, type) in recordTypes.enumerated() {
            if !type.name.isServiceName, let problem = Self.problem(ofName: type.name) {
                let message = "The name of the record type \"\(type.name)\" \(problem)."
                violations.append(SchemaViolation(subject: .recordType(index), message: message))
            }
            if !names.insert(type.name).inserted {
                let message = "The record type \(type.name) has two definitions."
                violations.append(SchemaViolation(subject: .recordType(index), message: message))
            }
            violations += type.violations(at: index, roles: roles)
        }
        return violations
    }

    /// The problem of a name that an app chooses, as the end of a sentence; `nil` for a valid name. An app cannot choose
    /// a name of the service, such as `cloudkit.share`.
    static func problem(ofName name: String) -> String? {
        if name.hasPrefix("_") { return "begins with _, as only names of the service do" }
        if !name.isSchemaIdentifier { return "has to be a letter, then letters, digits and underscores" }
        if name.utf8.count > 255 { return "is longer than 255 characters" }
        return nil
    }
}

extension ContainerSchema.RecordType {
    fileprivate func violations(at position: Int, roles: [String]) -> [SchemaViolation] {
        var violations: [SchemaViolation] = []
        var names: Set<String> = []
        for (index, field) in fields.enumerated() {
            var messages = field.problems(in: name)
            if !names.insert(field.name).inserted {
                messages.append("\"\(field.name)\" has two definitions in \(name).")
            }
            violations += messages.map { SchemaViolation(subject: .field(type: position, index), message: $0) }
        }
        for (index, grant) in grants.enumerated() {
            guard PredefinedRole(rawValue: grant.role) == nil, !roles.contains(grant.role) else { continue }
            let known = (PredefinedRole.allCases.map(\.rawValue) + roles).joined(separator: ", ")
            violations.append(
                SchemaViolation(
                    subject: .grant(type: position, index),
                    message: """
                        \(name) grants something to the role "\(grant.role)", which is not defined. The roles are \(known).
                        """
                )
            )
        }
        return violations
    }
}

extension ContainerSchema.Field {
    fileprivate func problems(in recordType: String) -> [String] {
        let title = "\(recordType).\(name)"
        if name.hasPrefix("_") {
            guard let system = SystemField(rawValue: name) else {
                let known = SystemField.allCases.map(\.rawValue).joined(separator: ", ")
                return ["\(title) is not a system field. These are \(known)."]
            }
            if type != system.type {
                return ["\(title) has the type \(type); the service defines it as \(system.type)."]
            }
        } else if !name.isServiceName, let problem = ContainerSchema.problem(ofName: name) {
            return ["The name of the field \"\(name)\" of \(recordType) \(problem)."]
        }
        return FieldIndexes.spellings.filter { indexes.contains($0.index) }.compactMap { name, index in
            type.reason(against: index).map { "\(title) cannot be \(name): \($0)." }
        }
    }
}

extension SchemaFieldType {
    /// Every index that a field of the type can have.
    package var possibleIndexes: FieldIndexes {
        FieldIndexes(FieldIndexes.spellings.map(\.index).filter { reason(against: $0) == nil })
    }

    /// The reason why a field of the type cannot have an index; `nil` where it can.
    fileprivate func reason(against index: FieldIndexes) -> String? {
        // No filter compares files or encrypted values.
        if element == .asset || isEncrypted { return "a field of type \(self) has no indexes" }
        if index == .searchable, element != .string { return "only text can be searched, and its type is \(self)" }
        if index == .sortable, isList { return "records are not sorted by lists" }
        return nil
    }
}
