import CloudKitModel
import GRDB

/// How a query is executed: the index to walk along, and whether its records come in the order of the result already.
///
/// There are two ways. A query that *streams* reads records in the order of the result until the page is full. A query
/// that *gathers* reads all records that a filter leaves, and then sorts them. A query that could do both counts, up to
/// a bound, the records that the filter leaves, and compares the cost.
struct QueryPlan {
    let access: QueryAccess
    let order: QueryOrder
    let streams: Bool

    /// The number of records up to which those that a filter leaves are counted, and those of the type.
    private static let countingLimit = 20_000

    /// Chooses the index and the way.
    ///
    /// The order of a query without sorts depends on the form of the query alone, never on the data. With filters that
    /// name values, record names or a location it is creation order, with only a filter on a range it is the order of
    /// that field, and otherwise it is the creation time.
    init(
        conditions: [QueryCondition],
        sorts: QueryOrder,
        type: Schema.RecordType,
        zones: [Int64],
        limit: Int,
        db: Database
    ) throws {
        var filters: [QueryAccess] = []
        var probes: [QueryAccess.Probe] = []
        var ranges: [(key: RangeKey, lower: QueryCondition.Bound?, upper: QueryCondition.Bound?)] = []
        for narrowing in conditions.flatMap({ $0.narrowings(of: type) }) {
            switch narrowing {
            case .values(let field, let values):
                filters.append(QueryAccess(path: .entries(field: field, values: values)))
                probes.append(.values(field: field, values))
            case .words(let fields, let words):
                filters.append(QueryAccess(path: .words(fields: fields, words)))
                probes.append(.words(fields: fields, words))
            case .names(let names):
                filters.append(QueryAccess(path: .names(type: type.id, names: names)))
            case .box(let field, let latitude, let longitude):
                filters.append(QueryAccess(path: .locations(field: field, latitude: latitude, longitude: longitude)))
            case .range(let field, let lower, let upper):
                ranges.append((.field(field), lower, upper))
            case .time(let isCreation, let lower, let upper):
                ranges.append((.time(isCreation: isCreation), lower, upper))
            }
        }

        // Ranges on one key become one walk between the innermost ends.
        var walks: [(key: RangeKey, access: QueryAccess)] = []
        for range in ranges {
            if let index = walks.firstIndex(where: { $0.key == range.key }) {
                walks[index].access.narrow(range.lower, range.upper)
            } else {
                var access = QueryAccess(path: range.key.path(of: type))
                access.narrow(range.lower, range.upper)
                walks.append((range.key, access))
            }
        }
        for index in walks.indices where walks[index].access.lower == nil {
            // Records without a value come before all values, and match no range.
            if case .field = walks[index].key {
                walks[index].access.lower = QueryCondition.Bound(.absent, isIncluded: false)
            }
        }

        var streamed: QueryAccess?
        var order = sorts
        if sorts.sorts.isEmpty {
            if !filters.isEmpty {
                // The rows of each filter come in creation order.
                let best = try Self.mostSelective(filters, zones: zones, db: db)
                access = filters[best].probing(probes, except: best, of: filters)
                self.order = order
                streams = !access.isByLocation
                return
            }
            let key = walks.first?.key ?? .time(isCreation: true)
            order = QueryOrder([QueryOrder.Sort(key: .subject(key.subject(of: type, conditions)), ascending: true)])
            streamed = walks.first?.access ?? QueryAccess(path: key.path(of: type))
        } else if let key = RangeKey(sorts.sorts[0].key) {
            streamed = walks.first { $0.key == key }?.access ?? QueryAccess(path: key.path(of: type))
        } else if case .subject(.system(.recordID)) = sorts.sorts[0].key {
            streamed = QueryAccess(path: .names(type: type.id, names: nil))
        }
        self.order = order
        streamed?.probes = probes
        streamed?.isDescending = !order.isAscending

        // Gathering is chosen where the filters leave few records.
        var candidates = filters
        if !sorts.sorts.isEmpty {
            candidates += walks.filter { $0.key != RangeKey(sorts.sorts[0].key) }.map(\.access)
        }
        if !candidates.isEmpty {
            let best = try Self.mostSelective(candidates, zones: zones, db: db)
            let narrowed = candidates[best].probing(probes, except: best, of: filters)
            if let streamed {
                streams = try Self.streams(
                    page: limit,
                    matches: candidates[best].count(upTo: Self.countingLimit, zones: zones, db: db),
                    records: Self.recordCount(of: type, zones: zones, db: db),
                    readsEachRecord: candidates[best].probe == nil
                )
                access = streams ? streamed : narrowed
            } else {
                access = narrowed
                streams = false
            }
        } else if let streamed {
            access = streamed
            streams = true
        } else {
            access = QueryAccess(path: .times(type: type.id, isCreation: true))
            streams = false
        }
    }

    /// Whether streaming costs less than gathering.
    ///
    /// If the matches are spread evenly over the order, streaming passes `records / matches` records for each match of
    /// the page. It reads each of these records unless an index says whether the record matches, which costs a fifth.
    /// Gathering reads each match.
    ///
    /// - Parameters:
    ///   - page: The number of records of the page.
    ///   - matches: The records that the filter leaves, at most ``countingLimit``.
    ///   - records: The records of the type, approximately. They are not counted where the matches decide.
    ///   - readsEachRecord: Whether no index says if a record on the way matches.
    /// - Returns: `true` to stream, `false` to gather.
    static func streams(
        page: Int,
        matches: Int,
        records: @autoclosure () throws -> Int,
        readsEachRecord: Bool
    ) rethrows -> Bool {
        guard matches < countingLimit else { return true }
        let costOfStep = readsEachRecord ? 5 : 1
        // Streaming takes a step for each match at least.
        guard (page + 1) * costOfStep < 5 * matches else { return false }
        let streaming = Double((page + 1) * costOfStep) * Double(try records()) / Double(matches)
        return streaming < Double(5 * matches)
    }

    /// The number of records of a type: exact for few records. For many, it is the number of writes to the zones, which
    /// is known without counting.
    private static func recordCount(of type: Schema.RecordType, zones: [Int64], db: Database) throws -> Int {
        let all = QueryAccess(path: .times(type: type.id, isCreation: true))
        let count = try all.count(upTo: countingLimit, zones: zones, db: db)
        guard count == countingLimit else { return count }
        let marks = zones.map { _ in "?" }.joined(separator: ", ")
        let writes = try db.value(
            "SELECT sum(sequence) FROM zone WHERE id IN (\(marks))",
            SQLArguments(zones),
            as: Int.self
        )
        return max(count, writes ?? 0)
    }

    private static func mostSelective(_ accesses: [QueryAccess], zones: [Int64], db: Database) throws -> Int {
        guard accesses.count > 1 else { return 0 }
        let counts = try accesses.map { try $0.count(upTo: Self.countingLimit, zones: zones, db: db) }
        return counts.indices.min { counts[$0] < counts[$1] } ?? 0
    }

    /// The field or the time that a range restricts.
    private enum RangeKey: Hashable {
        case field(Int64)
        case time(isCreation: Bool)

        /// The key of a sort, where an index has its order.
        init?(_ key: QueryOrder.Key) {
            switch key {
            case .subject(.field(let id, _, let kind)) where kind.isSortable: self = .field(id)
            case .subject(.system(.createTime)): self = .time(isCreation: true)
            case .subject(.system(.modTime)): self = .time(isCreation: false)
            default: return nil
            }
        }

        func path(of type: Schema.RecordType) -> QueryAccess.Path {
            switch self {
            case .field(let id): .entries(field: id, values: nil)
            case .time(let isCreation): .times(type: type.id, isCreation: isCreation)
            }
        }

        func subject(of type: Schema.RecordType, _ conditions: [QueryCondition]) -> QuerySubject {
            switch self {
            case .time(let isCreation): return isCreation ? .system(.createTime) : .system(.modTime)
            case .field(let id):
                let subjects = conditions.lazy.compactMap(\.subject)
                return subjects.first { subject in
                    if case .field(id, _, _) = subject { true } else { false }
                } ?? .system(.createTime)
            }
        }
    }
}

extension QueryAccess {
    fileprivate var isByLocation: Bool {
        if case .locations = path { true } else { false }
    }

    /// The walk that also requires the values of the other filters.
    fileprivate func probing(
        _ probes: [Probe],
        except index: Int,
        of filters: [QueryAccess]
    ) -> QueryAccess {
        var access = self
        access.probes = probes
        if index < filters.count, let probe, let own = probes.firstIndex(of: probe) { access.probes.remove(at: own) }
        return access
    }

    /// The probe that requires what this walk finds; `nil` where an index cannot tell it for one record.
    fileprivate var probe: Probe? {
        switch path {
        case .entries(let field, let values?): .values(field: field, values)
        case .words(let fields, let words): .words(fields: fields, words)
        case .entries, .locations, .times, .names: nil
        }
    }

    fileprivate mutating func narrow(_ lower: QueryCondition.Bound?, _ upper: QueryCondition.Bound?) {
        if let lower, self.lower.map({ $0.value < lower.value || ($0.value == lower.value && $0.isIncluded) }) ?? true {
            self.lower = lower
        }
        if let upper, self.upper.map({ upper.value < $0.value || ($0.value == upper.value && $0.isIncluded) }) ?? true {
            self.upper = upper
        }
    }

    /// The number of rows of the walk, counted up to `limit` and without the probes.
    fileprivate func count(upTo limit: Int, zones: [Int64], db: Database) throws -> Int {
        var unprobed = self
        unprobed.probes = []
        let (sql, arguments) = unprobed.statement(zones: zones, limit: limit)
        return try db.value("SELECT count(*) FROM (\(sql))", arguments, as: Int.self) ?? 0
    }
}
