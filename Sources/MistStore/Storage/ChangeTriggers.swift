/// The triggers of a record type's table: they note what was changed, whichever program changed it.
///
/// They are part of the file and need no function of this library, so that a change made with any SQLite tool is synchronised too.
/// While the engine writes (`mist_state.applying`), they rest.
///
/// SQLite has three limits that shape them. The conflict clause of the outer statement replaces those inside of a trigger, so upserts
/// name their conflict. `INSERT OR REPLACE` removes a row without its delete trigger; the insert trigger then finds the record by its
/// name. Without `recursive_triggers`, which other tools do not set, a trigger does not run for what it changes itself; so a cascade
/// within one table ends after one level. `mist_cascade` has the names from which the store goes on before it sends anything.
struct ChangeTriggers {
    let table: RecordTable
    /// All tables of the file: those whose rows may refer to this type's.
    let tables: [RecordTable]
    /// The zones of roots, where each root has one.
    var rootZones: RootZones?

    private static let isOn = "(SELECT applying FROM mist_state) = 0"

    /// The names of the triggers, for replacing them.
    var names: [String] {
        ["insert", "replace", "delete", "rename"].map { "mist_\($0)_\(table.recordType)" }
            + (mirror == nil ? [] : ["mist_mirror_\(table.recordType)"])
            + table.fields.map { "mist_update_\(table.recordType).\($0.name)" }
            + (rootZones == nil ? [] : RootZones.names(of: table))
    }

    /// The statements that create them.
    var definitions: [String] {
        [insert, replace, delete, rename] + (mirror.map { [$0] } ?? []) + table.fields.map(update)
            + (rootZones?.triggers(of: table, when: Self.isOn) ?? [])
    }

    private static let isKnown =
        "EXISTS (SELECT 1 FROM mist_record WHERE zone = NEW._zone AND name = NEW._recordName)"

    /// Notes an edit, unless the engine writes. One look at `mist_state` says that, and the time.
    ///
    /// - Parameters:
    ///   - field: The number of the field.
    ///   - base: The value of the service's version.
    ///   - source: What to join `mist_state` with, and the condition.
    /// - Returns: The statement.
    private func upsertedEdit(_ field: String, base: String = "NULL", _ source: String = "WHERE applying = 0") -> String
    {
        """
        INSERT INTO mist_edit (type, row, field, time, raw, base)
            SELECT \(table.id), NEW._id, \(field), \(TriggerClock.edit), \(TriggerClock.machine), \(base) FROM mist_state \(source)
            ON CONFLICT (type, row, field) DO UPDATE SET time = max(excluded.time, time + 1), raw = excluded.raw;
        """
    }

    /// A new record. Inserting many is what programs wait for, so that this trigger is one statement.
    private var insert: String {
        """
        CREATE TRIGGER \(quoted("mist_insert_\(table.recordType)")) AFTER INSERT ON \(table.name)
        BEGIN
            \(upsertedEdit("0", "WHERE applying = 0 AND NOT \(Self.isKnown)"))
        END
        """
    }

    /// A new row for a name that the service knows is an edit of all fields, since the row was replaced.
    private var replace: String {
        """
        CREATE TRIGGER \(quoted("mist_replace_\(table.recordType)")) AFTER INSERT ON \(table.name)
        WHEN \(Self.isOn) AND \(Self.isKnown)
        BEGIN
            \(refusalOfTakenNames)
            \(upsertedEdit("field.id", "JOIN mist_field AS field ON field.type = \(table.id) WHERE true"))
            DELETE FROM mist_edit WHERE type = \(table.id) AND row IN (
                SELECT row FROM mist_record WHERE zone = NEW._zone AND name = NEW._recordName AND row <> NEW._id
            );
            UPDATE mist_record SET row = NEW._id WHERE zone = NEW._zone AND name = NEW._recordName;
            UPDATE \(table.name) SET _changeTag = (
                SELECT tag FROM mist_record WHERE zone = NEW._zone AND name = NEW._recordName
            ) WHERE _id = NEW._id;
        END
        """
    }

    /// Writes a value to a field that has the same one under another name.
    private func mirror(_ field: StoredField, to other: StoredField, if condition: String) -> String {
        let columns = zip(other.columns, field.columns)
        return """
            UPDATE \(table.name) SET \(columns.map { "\($0) = NEW.\($1)" }.joined(separator: ", "))
                WHERE _id = NEW._id AND (\(columns.map { "\($0) IS NOT NEW.\($1)" }.joined(separator: " OR "))) AND \(condition)
                AND \(Self.isOn);
            """
    }

    /// A new row has its values under the former names as well. Where both have one, the newer name's counts.
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

    /// What was written to a field is written to those with its former names, and the other way round, where the field itself was not written.
    private func mirrorOfUpdate(_ field: StoredField) -> String {
        var statements = table.formers(of: field).map { mirror(field, to: $0, if: "true") }
        if let successor = table.fields.first(where: { $0.id == field.successor }) {
            let isUnchanged = successor.columns.map { "NEW.\($0) IS OLD.\($0)" }.joined(separator: " AND ")
            statements.append(mirror(field, to: successor, if: isUnchanged))
        }
        return statements.map { "\n    " + $0 }.joined()
    }

    /// A record of another type that was never sent is not found here: the second of the two is parked when it is to be sent.
    private var refusalOfTakenNames: String {
        """
        SELECT RAISE(ABORT, 'mist: the name is taken by a record of another type')
                FROM mist_record WHERE zone = NEW._zone AND name = NEW._recordName AND type <> \(table.id);
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

    /// A record whose name or zone is changed is another record: the old one is deleted, and a new one created.
    private var rename: String {
        """
        CREATE TRIGGER \(quoted("mist_rename_\(table.recordType)")) AFTER UPDATE OF _recordName, _zone ON \(table.name)
        WHEN (NEW._recordName IS NOT OLD._recordName OR NEW._zone IS NOT OLD._zone) AND \(Self.isOn)
        BEGIN
            \(refusalOfTakenNames)
            \(tombstone)
            DELETE FROM mist_edit WHERE type = \(table.id) AND row = NEW._id;
            \(upsertedEdit("0"))
            UPDATE \(table.name) SET _changeTag = NULL WHERE _id = NEW._id;
            \(linksFollow)
        END
        """
    }

    /// What referred to the old name refers to the new one.
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
            DELETE FROM mist_edit WHERE type = \(table.id) AND row = OLD._id;
            \(tombstone)
            \(tables.flatMap { $0.cascade(from: "OLD._recordName", in: "OLD._zone") }.joined(separator: "\n    "))
        END
        """
    }

    /// A delete is noted where the service has the record, or may have it.
    private var tombstone: String {
        """
        \(Tombstones.insert(depth: "0", where: "zone = OLD._zone AND name = OLD._recordName AND type = \(table.id)"))
        DELETE FROM mist_record WHERE zone = OLD._zone AND name = OLD._recordName AND type = \(table.id);
        DELETE FROM mist_parked WHERE zone = OLD._zone AND name = OLD._recordName;
        """
    }
}

/// The time in triggers, in milliseconds since 1970: expressions over the row of `mist_state`.
private enum TriggerClock {
    /// The machine's clock; `mist_state.clock` where a simulation sets it.
    static let machine = "coalesce(clock, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER))"

    /// The time of an edit: the machine's clock in the service's time, and never before anything that was heard of.
    static let edit = "max(\(machine) + clock_offset, heard)"
}

/// Statements about `mist_tombstone`.
enum Tombstones {
    /// Notes the delete of the records that the service has, or may have. One that it may have is looked up first: a delete needs the tag.
    static func insert(depth: String, where condition: String) -> String {
        """
        INSERT INTO mist_tombstone (record, type, zone, name, tag, created, creator, time, depth, epoch, is_conflicting)
            SELECT id, type, zone, name, tag, created, creator, (SELECT \(TriggerClock.edit) FROM mist_state), \(depth), epoch, tag IS NULL FROM mist_record WHERE \(condition)
            ON CONFLICT (zone, name) DO UPDATE SET
                time = excluded.time, tag = excluded.tag, record = excluded.record, depth = excluded.depth;
        """
    }
}

extension RecordTable {
    /// The statements that delete the rows that go with a record: those below it, and those that refer to it with the action
    /// `DELETE_SELF`.
    ///
    /// They do all that the delete trigger does, because SQLite does not run that for rows that it deletes itself. From the
    /// names in `mist_cascade` the store goes on.
    func cascade(from name: String, in zone: String) -> [String] {
        fields.filter { $0.type == .reference }.flatMap { field -> [String] in
            let condition = "\(field.column) = \(name) AND _zone = \(zone)\(field.bindingCondition)"
            let names = "SELECT _recordName FROM \(self.name) WHERE \(condition)"
            let depth = "1 + coalesce((SELECT depth FROM mist_tombstone WHERE zone = \(zone) AND name = \(name)), 0)"
            return [
                Tombstones.insert(depth: "(\(depth))", where: "zone = \(zone) AND name IN (\(names)) AND type = \(id)"),
                """
                INSERT INTO mist_cascade (zone, name) SELECT _zone, _recordName FROM \(self.name) WHERE \(condition)
                    ON CONFLICT (zone, name) DO UPDATE SET name = excluded.name;
                """,
                "DELETE FROM mist_edit WHERE type = \(id) AND row IN (SELECT _id FROM \(self.name) WHERE \(condition));",
                "DELETE FROM mist_record WHERE zone = \(zone) AND name IN (\(names)) AND type = \(id);",
                "DELETE FROM mist_parked WHERE zone = \(zone) AND name IN (\(names));",
                "DELETE FROM \(self.name) WHERE \(condition);",
            ]
        }
    }
}
