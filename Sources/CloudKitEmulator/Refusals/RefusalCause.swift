package import CloudKitRuleIDs

/// What explains a failure to someone who looks for its cause: the rules behind it, and what helps.
///
/// It is no part of the answer, and two failures with the same answer are equal whatever their causes.
package struct RefusalCause: Sendable {
    /// Something that helps.
    package enum Remedy: Sendable {
        /// An index of a field. The index is in lower case: `queryable`, `sortable` or `searchable`.
        case index(String, field: String, recordType: String)
        /// A permission, in lower case (`read`, `create` or `write`), for a role.
        case grant(String, role: String, recordType: String)
        /// The deployment of the schema of development.
        case deployment
        /// A record type, or a field of it, in the schema of development.
        case definition(recordType: String, field: String?)
        /// A caller who is signed in.
        case signIn
        /// The edit on the record as it is now.
        case fetchAgain
        /// Another name for the new record.
        case anotherName
    }

    /// The rules of the protocol that refused it.
    package var rules: [RuleID] = []
    /// The rule that refused it, where the protocol has none.
    package var sentence: String?
    /// What helps, the best first.
    package var remedies: [Remedy] = []
}

extension EmulatorError {
    /// The same failure with what helps.
    func helped(by remedies: RefusalCause.Remedy...) -> EmulatorError {
        var error = self
        error.cause.remedies = remedies
        return error
    }

    /// The same failure with the rules that refuse it.
    func refused(by rules: RuleID...) -> EmulatorError {
        var error = self
        error.cause.rules = rules
        return error
    }

    /// The failure of a caller without the permission that an operation needs.
    ///
    /// - Parameters:
    ///   - operation: `READ`, `CREATE` or `WRITE`.
    ///   - type: The record type; `nil` where it is not known.
    ///   - user: The caller; `nil` for an anonymous one, who may write nothing whatever the grants.
    /// - Returns: The failure.
    static func ungranted(_ operation: String, on type: String?, to user: String?) -> EmulatorError {
        let error = denied(operation)
        let role = user == nil ? "_world" : "_icloud"
        let grant = type.map { RefusalCause.Remedy.grant(operation.lowercased(), role: role, recordType: $0) }
        guard user == nil, operation != "READ" else { return grant.map { error.helped(by: $0) } ?? error }
        return error.helped(by: .signIn)
    }
}
