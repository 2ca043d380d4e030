/// The triggers of a record type's table. They record every change as an edit, whichever program makes it.
///
/// They are part of the file and need no function of this library, so that a change made with any SQLite tool is
/// synchronised too. While the engine writes (`mist_state.applying`), they do nothing.
///
/// Three limits of SQLite shape the triggers:
///
/// - The conflict clause of the outer statement replaces those inside of a trigger. So upserts name their conflict.
/// - `INSERT OR REPLACE` removes a row without its delete trigger. The insert trigger then finds the record by its
///   name.
/// - Without `recursive_triggers`, which other tools do not set, a trigger does not run for its own changes. So a
///   cascade within one table ends after one level. `mist_cascade` has the names from which the store continues before
///   it sends anything.
struct ChangeTriggers {
    let table: RecordTable
    /// All tables of the file: their rows may refer to rows of this type.
    let tables: [RecordTable]
    /// The rules for zones, where each root has a zone of its own.
    var rootZones: RootZones?

    private static let isOn = FileState.recordsEdits

    /// The names of the triggers, for replacing them.
    var names: [String] {
        ["insert", "replace", "delete", "rename", "place"].map { "mist_\($0)_\(table.recordType)" }
            + (mirror == nil ? [] : ["mist_mirror_\(table.recordType)"])
            + table.fields.map { "mist_update_\(table.recordType).\($0.name)" }
            + (rootZones == nil ? [] : RootZones.names(of: table))
    }

    /// The statements that create them.
    var definitions: [String] {
        [insert, replace, delete, rename, place] + (mirror.map { [$0] } ?? []) + table.fields.map(update)
            + (rootZones?.triggers(of: table, when: Self.isOn) ?? [])
    }

    private static let isKnown = "EXISTS (\(KnownVersions.named("NEW._recordName", in: "NEW._zone")))"

    /// Adds an edit, unless the engine writes. The statement reads `mist_state` once, for this condition and for the
    /// time.
    ///
    /// - Parameters:
    ///   - field: The number of the field.
    ///   - base: The value of the service's version.
    ///   - source: The SQL after `FROM mist_state`: a join, and the condition.
    /// - Returns: The statement.
    private func upsertedEdit(_ field: String, base: String = "NULL", _ source: String = "WHERE applying = 0") -> String
    {
        PendingEdits.upsert(field, base: base, of: table.id, source)
    }

    /// The trigger for a new record. It is one statement, because programs insert many records at once and wait for it.
    private var insert: String {
        """
        CREATE TRIGGER \(quoted("mist_insert_\(table.recordType)")) AFTER INSERT ON \(table.name)
        BEGIN
            \(upsertedEdit("\(FieldID.insert)", "WHERE applying = 0 AND NOT \(Self.isKnown)"))
        END
        """
    }

    /// The trigger for a new row whose name the service knows. The row was replaced, so this is an edit of all fields.
    private var replace: String {
        """
        CREATE TRIGGER \(quoted("mist_replace_\(table.recordType)")) AFTER INSERT ON \(table.name)
        WHEN \(Self.isOn) AND \(Self.isKnown)
        BEGIN
            \(refusalOfTakenNames)
            \(upsertedEdit("field.id", "\(RecordTypes.fields(ofType: "\(table.id)")) WHERE true"))
            \(PendingEdits.deletion(of: table.id, rows: "IN (\n        \(known("row")) AND row <> NEW._id\n    )"))
            \(KnownVersions.rowReplacement)
            UPDATE \(table.name) SET _changeTag = (
                \(known("tag"))
            ) WHERE _id = NEW._id;
        END
        """
    }

    /// A value of the service's version of the row `NEW`, as a query.
    private func known(_ column: String) -> String {
        KnownVersions.column(column, ofName: "NEW._recordName", in: "NEW._zone")
    }

    /// Refuses a zone that the file does not have. A record in it would never be sent, and the record that it was moved
    /// from would be deleted on all devices.
    private static let refusalOfUnknownZones = """
        SELECT \(TriggerRefusal.unknownZone.raise("there is no such zone")) WHERE NEW._zone NOT IN (\(Zones.ids));
        """

    private var place: String {
        """
        CREATE TRIGGER \(quoted("mist_place_\(table.recordType)")) AFTER INSERT ON \(table.name)
        WHEN NEW._zone NOT IN (\(Zones.ids)) AND \(Self.isOn)
        BEGIN
            \(Self.refusalOfUnknownZones)
        END
        """
    }

    /// Copies the value of a field to the field that has the same value under another name.
    private func mirror(_ field: StoredField, to other: StoredField, if condition: String) -> String {
        let columns = zip(other.columns, field.columns)
        return """
            UPDATE \(table.name) SET \(columns.map { "\($0) = NEW.\($1)" }.joined(separator: ", "))
                WHERE _id = NEW._id AND (\(columns.map { "\($0) IS NOT NEW.\($1)" }.joined(separator: " OR "))) AND \(condition)
                AND \(Self.isOn);
            """
    }

    /// The trigger that writes the values of a new row under the former names as well. Where both names have a value,
    /// that of the newer name counts.
    private var mirror: String? {
        let statements = table.fields.flatMap { field in
            table.formers(of: field).flatMap { former in
                [
                    mirror(former, to: field, if: "NEW.\(field.column) IS NULL"),
                    mirror(field, to: former, if: "NEW.\(field.column) IS NOT NULL"),
                ]
            }
        }
        guard !statements.isEmpty else { return nil }
        return """
            CREATE TRIGGER \(quoted("mist_mirror_\(table.recordType)")) AFTER INSERT ON \(table.name) WHEN \(Self.isOn)
            BEGIN
                \(statements.joined(separator: "\n    "))
            END
            """
    }

    /// Copies a value that was written to a field to the fields with its former names. A value that was written to a
    /// former field is copied to its successor, unless the same statement writes the successor.
    private func mirrorOfUpdate(_ field: StoredField) -> String {
        var statements = table.formers(of: field).map { mirror(field, to: $0, if: "true") }
        if let successor = field.successor.flatMap(table.field) {
            let isUnchanged = successor.columns.map { "NEW.\($0) IS OLD.\($0)" }.joined(separator: " AND ")
            statements.append(mirror(field, to: successor, if: isUnchanged))
        }
        return statements.map { "\n    " + $0 }.joined()
    }

    /// Refuses a name that a record of another type has at the service. A record of another type that was never sent is
    /// not found here: the second of the two records is parked when it is to be sent.
    private var refusalOfTakenNames: String {
        """
        SELECT \(TriggerRefusal.nameTaken.raise("a record of another type has the name"))
                \(KnownVersions.ofOtherType("NEW._recordName", in: "NEW._zone", than: table.id));
        """
    }

    /// Refuses another name for a row with sealed values, which belong to the name. Empty for a type without sealed fields.
    private var refusalOfSealedNames: String {
        guard !table.sealedFields.isEmpty else { return "" }
        let hasValues = table.sealedFields.map { "NEW.\($0.column) IS NOT NULL" }.joined(separator: " OR ")
        return """

                SELECT \(TriggerRefusal.sealedName.raise("the row has sealed values, which belong to its name"))
                    WHERE NEW._recordName IS NOT OLD._recordName AND (\(hasValues));
            """
    }

    private func update(_ field: StoredField) -> String {
        let changed = field.columns.map { "NEW.\($0) IS NOT OLD.\($0)" }.joined(separator: " OR ")
        return """
            CREATE TRIGGER \(quoted("mist_update_\(table.recordType).\(field.name)"))
            AFTER UPDATE OF \(field.columns.joined(separator: ", ")) ON \(table.name) WHEN \(changed)
            BEGIN
                \(upsertedEdit("\(field.id)", base: "OLD.\(field.column)"))\(mirrorOfUpdate(field))
            END
            """
    }

    /// The trigger for a record whose name or zone is changed. It is another record then: the old record is deleted,
    /// and a new one is created.
    private var rename: String {
        """
        CREATE TRIGGER \(quoted("mist_rename_\(table.recordType)")) AFTER UPDATE OF _recordName, _zone ON \(table.name)
        WHEN (NEW._recordName IS NOT OLD._recordName OR NEW._zone IS NOT OLD._zone) AND \(Self.isOn)
        BEGIN
            \(Self.refusalOfUnknownZones)
            \(refusalOfTakenNames)\(refusalOfSealedNames)
            \(tombstone)
            \(PendingEdits.deletion(of: table.id, rows: "= NEW._id"))
            \(upsertedEdit("\(FieldID.insert)"))
            UPDATE \(table.name) SET _changeTag = NULL WHERE _id = NEW._id;
            \(linksFollow)
        END
        """
    }

    /// Changes the references to the old name into references to the new name.
    private var linksFollow: String {
        tables.flatMap { other in
            other.fields.filter { $0.type == .reference }.map { field in
                """
                UPDATE \(other.name) SET \(field.column) = NEW._recordName
                    WHERE \(field.column) = OLD._recordName AND _zone = OLD._zone AND OLD._zone = NEW._zone;
                """
            }
        }.joined(separator: "\n    ")
    }

    private var delete: String {
        """
        CREATE TRIGGER \(quoted("mist_delete_\(table.recordType)")) AFTER DELETE ON \(table.name) WHEN \(Self.isOn)
        BEGIN
            \(PendingEdits.deletion(of: table.id, rows: "= OLD._id"))
            \(tombstone)
            \(tables.flatMap { $0.cascade(from: "OLD._recordName", in: "OLD._zone") }.joined(separator: "\n    "))
        END
        """
    }

    /// Adds a tombstone where the service has the record, or may have it.
    private var tombstone: String {
        """
        \(Tombstones.insert(depth: "0", where: "zone = OLD._zone AND name = OLD._recordName AND type = \(table.id)"))
        \(KnownVersions.deletion(where: "zone = OLD._zone AND name = OLD._recordName AND type = \(table.id)"))
        \(Parking.deletion(where: "zone = OLD._zone AND name = OLD._recordName"))
        """
    }
}

extension RecordTable {
    /// The statements that delete the rows that go with a record: those below it, and those that refer to it with the
    /// action `DELETE_SELF`.
    ///
    /// They do everything that the delete trigger does, because SQLite does not run the trigger for rows that a trigger
    /// deletes. The store continues from the names in `mist_cascade`.
    func cascade(from name: String, in zone: String) -> [String] {
        fields.filter { $0.type == .reference }.flatMap { field -> [String] in
            let condition = "\(field.column) = \(name) AND _zone = \(zone)\(field.bindingCondition)"
            let names = "SELECT _recordName FROM \(self.name) WHERE \(condition)"
            let depth = Tombstones.depth(below: name, in: zone)
            return [
                Tombstones.insert(depth: "(\(depth))", where: "zone = \(zone) AND name IN (\(names)) AND type = \(id)"),
                PendingCascades.insertion(from: self.name, where: condition),
                PendingEdits.deletion(of: id, rows: "IN (SELECT _id FROM \(self.name) WHERE \(condition))"),
                KnownVersions.deletion(where: "zone = \(zone) AND name IN (\(names)) AND type = \(id)"),
                Parking.deletion(where: "zone = \(zone) AND name IN (\(names))"),
                "DELETE FROM \(self.name) WHERE \(condition);",
            ]
        }
    }
}
