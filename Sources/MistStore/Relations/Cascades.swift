package import GRDB

/// Continues the deletes that triggers began: SQLite does not run a trigger for the trigger's own changes.
package struct Cascades {
    package let file: StoreFile
    package let db: Database

    package init(file: StoreFile, db: Database) {
        self.file = file
        self.db = db
    }

    /// Deletes the rows that go with the records of `mist_cascade`, level by level.
    package func complete() throws {
        while let row = try db.row("SELECT zone, name FROM mist_cascade LIMIT 1") {
            let (zone, name): (Int64, String) = (row["zone"], row["name"])
            try run(from: name, in: zone)
            try db.run("DELETE FROM mist_cascade WHERE zone = ? AND name = ?", [zone, name])
        }
    }

    /// Deletes the rows that go with a record, one level below it, and adds their names to `mist_cascade`.
    func run(from name: String, in zone: Int64) throws {
        for table in file.allTables {
            for statement in table.cascade(from: ":name", in: ":zone") {
                try db.cachedStatement(sql: statement).execute(arguments: ["name": name, "zone": zone])
            }
        }
    }
}
