import CloudKitModel
import GRDB

/// One way to find the records of a query: a walk along an index, as SQL.
///
/// The walk gives pairs of a key and a record's row number. It is one `SELECT` for each zone and each wanted value.
/// Each part is in order already, so SQLite merges them without sorting, and the cost of a page does not depend on the
/// number of records.
struct QueryAccess {
    /// The index that the walk follows.
    enum Path {
        /// The values of a field, in order. `values` restricts them to some; then the rows come in the creation order
        /// of the records.
        case entries(field: Int64, values: [OrderedValue]?)
        /// The locations in a field, by latitude.
        case locations(field: Int64, latitude: ClosedRange<Double>, longitude: ClosedRange<Double>?)
        /// The records with any of the words in one of the fields, in creation order.
        case words(fields: [Int64], [String])
        /// The records of the type, by the time of their creation or of their last change.
        case times(type: Int64, isCreation: Bool)
        /// The records of the type, by name; `names` restricts them to some.
        case names(type: Int64, names: [String]?)
    }

    var path: Path
    /// The range of the keys.
    var lower: QueryCondition.Bound?
    var upper: QueryCondition.Bound?
    /// What the records must have besides. Each costs one search in an index for each record.
    var probes: [Probe] = []
    /// Whether rows come from the last to the first.
    var isDescending = false
    /// Where the previous page ended.
    var start: Start?

    /// Rows of which a record must have one.
    enum Probe: Hashable {
        /// One of these values in a field.
        case values(field: Int64, [OrderedValue])
        /// One of these words in one of the fields.
        case words(fields: [Int64], [String])
    }

    /// The start of a walk.
    struct Start {
        let key: OrderedValue
        /// Among the records with this key, the record after which the walk goes on; `nil` starts before all of them.
        let record: Int64?
    }

    /// Whether rows come in the order of their keys; otherwise in the creation order of the records.
    var isOrderedByKey: Bool {
        switch path {
        case .entries(_, let values): values == nil
        case .locations, .words: false
        case .times: true
        case .names(_, let names): names == nil
        }
    }

    /// The SQL of the records along the walk, and its arguments.
    ///
    /// The walk is an expression of its own: where SQLite has to sort it, it sorts row numbers and not whole records.
    /// The `LIMIT` makes SQLite keep the walk's order, because it then does not merge the expression into the outer
    /// query.
    ///
    /// - Parameter zones: The zones to look in.
    /// - Returns: A statement whose rows are ``RecordRow/columns`` and a key.
    func recordsStatement(zones: [Int64]) -> (sql: String, arguments: SQLArguments) {
        let (walk, arguments) = statement(zones: zones)
        let sql = """
            WITH walk (key, record) AS (\(walk) LIMIT -1)
            SELECT \(RecordRow.columns), walk.key FROM walk CROSS JOIN record ON record.id = walk.record
            WHERE record.deleted = 0
            """
        return (sql, arguments)
    }

    /// The SQL of the walk, and its arguments.
    ///
    /// - Parameters:
    ///   - zones: The zones to look in.
    ///   - limit: The maximum number of rows; `nil` for all.
    /// - Returns: A statement whose rows are a key and a record's row number.
    func statement(zones: [Int64], limit: Int? = nil) -> (sql: String, arguments: SQLArguments) {
        // SQLite merges up to this number of parts fast (its own limit is 500 parts). With more values, one part has
        // all of them, and its rows are sorted.
        let mergedParts = 100
        let alternatives: Int
        switch path {
        case .entries(_, let values?): alternatives = values.count
        case .names(_, let names?): alternatives = names.count
        case .words(let fields, let words): alternatives = fields.count * words.count
        default: alternatives = 1
        }
        var parts: [String] = []
        var arguments: [(any DatabaseValueConvertible)?] = []
        if zones.count * alternatives <= mergedParts {
            for zone in zones {
                for index in 0..<alternatives {
                    parts.append(part([zone], alternatives: index..<index + 1, &arguments))
                }
            }
        }
        if parts.isEmpty { parts.append(part(zones, alternatives: 0..<alternatives, &arguments)) }
        let direction = isDescending ? " DESC" : ""
        var sql = parts.joined(separator: "\nUNION ALL\n")
        if isOrderedByKey {
            sql += "\nORDER BY 1\(direction), 2\(direction)"
        } else {
            sql += "\nORDER BY 2\(direction)"
        }
        if let limit {
            sql += "\nLIMIT ?"
            arguments.append(limit)
        }
        return (sql, SQLArguments(arguments))
    }

    private func part(
        _ zones: [Int64],
        alternatives: Range<Int>,
        _ arguments: inout [(any DatabaseValueConvertible)?]
    ) -> String {
        let key: String
        let record: String
        var sql: String
        switch path {
        case .entries(let field, let values):
            (key, record) = ("e.value", "e.record")
            sql = "SELECT \(values == nil ? key : "0"), e.record FROM entry AS e WHERE e.field = ?"
            arguments.append(field)
            sql += " AND e.zone" + any(of: zones, &arguments)
            if let values { sql += " AND e.value" + any(of: values[alternatives], &arguments) }
        case .locations(let field, let latitude, let longitude):
            (key, record) = ("0", "e.record")
            sql = "SELECT 0, e.record FROM location_entry AS e WHERE e.field = ?"
            arguments.append(field)
            sql += " AND e.zone" + any(of: zones, &arguments)
            sql += " AND e.latitude BETWEEN ? AND ?"
            arguments += [latitude.lowerBound, latitude.upperBound]
            if let longitude {
                sql += " AND e.longitude BETWEEN ? AND ?"
                arguments += [longitude.lowerBound, longitude.upperBound]
            }
        case .words(let fields, let words):
            (key, record) = ("0", "e.record")
            // One part has one field and one word, or all of them.
            let isWhole = alternatives.count != 1
            let field = isWhole ? fields[...] : fields[(alternatives.lowerBound / words.count)...].prefix(1)
            let word = isWhole ? words[...] : words[(alternatives.lowerBound % words.count)...].prefix(1)
            sql = "SELECT 0, e.record FROM word AS e WHERE e.field" + any(of: field, &arguments)
            sql += " AND e.zone" + any(of: zones, &arguments)
            sql += " AND e.word" + any(of: word, &arguments)
        case .times(let type, let isCreation):
            (key, record) = (isCreation ? "r.created" : "r.modified", "r.id")
            let index = isCreation ? "record_created_order" : "record_modified_order"
            sql = "SELECT \(key), r.id FROM record AS r INDEXED BY \(index) WHERE r.zone"
            sql += any(of: zones, &arguments)
            sql += " AND r.type = ? AND r.deleted = 0"
            arguments.append(type)
        case .names(let type, let names):
            (key, record) = ("r.name", "r.id")
            sql = "SELECT \(names == nil ? key : "0"), r.id FROM record AS r INDEXED BY record_name WHERE r.zone"
            sql += any(of: zones, &arguments)
            if let names { sql += " AND r.name" + any(of: names[alternatives], &arguments) }
            sql += " AND r.type = ? AND r.deleted = 0"
            arguments.append(type)
        }
        if let lower {
            sql += " AND \(key) \(lower.isIncluded ? ">=" : ">") ?"
            arguments.append(lower.value)
        }
        if let upper {
            sql += " AND \(key) \(upper.isIncluded ? "<=" : "<") ?"
            arguments.append(upper.value)
        }
        if let start { sql += after(start, key: key, record: record, &arguments) }
        for probe in probes {
            let zone = record == "r.id" ? "r.zone" : "e.zone"
            switch probe {
            case .values(let field, let values):
                sql += " AND EXISTS (SELECT 1 FROM entry AS p WHERE p.field = ? AND p.zone = \(zone)"
                arguments.append(field)
                sql += " AND p.value" + any(of: values, &arguments)
            case .words(let fields, let words):
                sql += " AND EXISTS (SELECT 1 FROM word AS p WHERE p.field" + any(of: fields, &arguments)
                sql += " AND p.zone = \(zone) AND p.word" + any(of: words, &arguments)
            }
            sql += " AND p.record = \(record))"
        }
        return sql
    }

    private func after(
        _ start: Start,
        key: String,
        record: String,
        _ arguments: inout [(any DatabaseValueConvertible)?]
    ) -> String {
        let sign = isDescending ? "<" : ">"
        guard isOrderedByKey else {
            guard let id = start.record else { return "" }
            arguments.append(id)
            return " AND \(record) \(sign) ?"
        }
        arguments.append(start.key)
        guard let id = start.record else { return " AND \(key) \(sign)= ?" }
        arguments += [start.key, id]
        return " AND \(key) \(sign)= ? AND (\(key) \(sign) ? OR \(record) \(sign) ?)"
    }

    private func any<Value: DatabaseValueConvertible>(
        of values: some Collection<Value>,
        _ arguments: inout [(any DatabaseValueConvertible)?]
    ) -> String {
        for value in values { arguments.append(value) }
        if values.count == 1 { return " = ?" }
        return " IN (" + values.map { _ in "?" }.joined(separator: ", ") + ")"
    }
}
