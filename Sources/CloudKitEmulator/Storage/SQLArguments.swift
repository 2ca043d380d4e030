import GRDB

/// The arguments of an SQL statement.
///
/// GRDB binds a string as a C string, which ends at its first U+0000, and reads it back in the same way: a statement for
/// the name `a\u{0}b` would find, change or delete `a`. So a statement whose arguments have such a string is refused.
/// Bytes (`Data`) can have any content.
struct SQLArguments: ExpressibleByArrayLiteral {
    private let values: [DatabaseValue]

    init(_ values: [(any DatabaseValueConvertible)?]) {
        self.values = values.map { $0?.databaseValue ?? .null }
    }

    init(_ values: [DatabaseValue]) {
        self.values = values
    }

    init(arrayLiteral elements: (any DatabaseValueConvertible)?...) {
        self.init(elements)
    }

    /// The arguments in the form that GRDB takes.
    ///
    /// - Throws: `BAD_REQUEST` where a string has the character U+0000.
    func checked() throws(EmulatorError) -> StatementArguments {
        for value in values {
            if case .string(let text) = value.storage, text.utf8.contains(0) { throw .controlCharacter(in: "a text") }
        }
        return StatementArguments(values)
    }
}

extension StringProtocol {
    /// Whether the text has a control character, U+0000 to U+001F or U+007F. No name, token or path has one.
    package var hasControlCharacters: Bool { utf8.contains { $0 < 0x20 || $0 == 0x7F } }
}

extension EmulatorError {
    /// The failure for a name or a token with a control character. The service's words are not known.
    static func controlCharacter(in subject: String) -> EmulatorError {
        .badRequest("\(subject) cannot have control characters")
    }
}
