import GRDB
import SQLiteTables

/// The users who created and changed records, `mist_user`: their record names by number.
///
/// An instance lives as long as a transaction, and keeps the numbers that it has found.
final class Users: TableOwner {
    static let guarded = ["mist_user"]

    static let definition = """
        CREATE TABLE mist_user (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE
        );
        """

    private let db: Database
    private var numbers: [String: UserRowID] = [:]

    init(_ db: Database) {
        self.db = db
    }

    /// The number of a user. A user whom the file does not know yet gets a row.
    func number(of name: String?) throws -> UserRowID? {
        guard let name else { return nil }
        if let number = numbers[name] { return number }
        var number = try db.value("SELECT id FROM mist_user WHERE name = ?", [name], as: UserRowID.self)
        if number == nil {
            try db.run("INSERT INTO mist_user (name) VALUES (?)", [name])
            number = db.lastInserted(UserRowID.self)
        }
        numbers[name] = number
        return number
    }

    /// The name of the user whose number is in a column, as an expression.
    static func name(ofNumber column: String) -> String { "(SELECT name FROM mist_user WHERE id = \(column))" }
}
