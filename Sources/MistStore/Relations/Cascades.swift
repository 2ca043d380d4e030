package import GRDB

/// Continues the deletes that triggers began: SQLite does not run a trigger for the trigger's own changes.
package struct Cascades {
    package let file: StoreFile
    package let db: Database

    package init(file: StoreFile, db: Database) {
        self.file = file
        self.db = db
    }

    /// Deletes the rows that go with the deleted records, level by level.
    package func complete() throws {
        let pending = PendingCascades(db: db)
        while let (zone, name) = try pending.first() {
            try run(from: name, in: zone)
            try pending.forget(name, in: zone)
        }
    }

    /// Deletes the rows that go with a record, one level below it, and notes their names for the next level.
    func run(from name: String, in zone: ZoneRowID) throws {
        for table in file.allTables {
            for statement in table.cascade(from: ":name", in: ":zone") {
                try db.cachedStatement(sql: statement).execute(arguments: ["name": name, "zone": zone])
            }
        }
    }
}
