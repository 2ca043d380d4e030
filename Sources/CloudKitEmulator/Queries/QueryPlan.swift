import CloudKitModel
import GRDB

/// How a query is executed: the index to walk along, and whether its records come in the order of the result already.
///
/// There are two ways. A query that *streams* reads records in the order of the result until the page is full. A query
/// that *gathers* reads all records that a filter leaves, and then sorts them. A query that could do both counts, up to
/// a bound, the records that the filter leaves.
struct QueryPlan {
    let access: QueryAccess
    let order: QueryOrder
    let streams: Bool

    /// With fewer records than this, gathering is preferred to streaming.
    private static let gatheringLimit = 2000

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
        db: Database
    ) throws {
        var filters: [QueryAccess] = []
        var probes: [(field: Int64, values: [IndexValue])] = []
        var ranges: [(key: RangeKey, lower: QueryCondition.Bound?, upper: QueryCondition.Bound?)] = []
        for narrowing in conditions.compactMap(\.narrowing) {
            switch narrowing {
            case .values(let field, let values):
                filters.append(QueryAccess(path: .entries(field: field, values: values)))
                probes.append((field, values))
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
        } else if case .subject(.recordName) = sorts.sorts[0].key {
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
                let isSmall =
                    try candidates[best].count(upTo: Self.gatheringLimit, zones: zones, db: db) < Self.gatheringLimit
                access = isSmall ? narrowed : streamed
                streams = !isSmall
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

    private static func mostSelective(_ accesses: [QueryAccess], zones: [Int64], db: Database) throws -> Int {
        guard accesses.count > 1 else { return 0 }
        let counts = try accesses.map { try $0.count(upTo: Self.gatheringLimit, zones: zones, db: db) }
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
            case .subject(.created): self = .time(isCreation: true)
            case .subject(.modified): self = .time(isCreation: false)
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
            case .time(let isCreation): return isCreation ? .created : .modified
            case .field(let id):
                let subjects = conditions.lazy.compactMap(\.subject)
                return subjects.first { subject in
                    if case .field(id, _, _) = subject { true } else { false }
                } ?? .created
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
        _ probes: [(field: Int64, values: [IndexValue])],
        except index: Int,
        of filters: [QueryAccess]
    ) -> QueryAccess {
        var access = self
        access.probes = probes
        if index < filters.count, case .entries(let field, let values?) = path,
            let own = access.probes.firstIndex(where: { $0.field == field && $0.values == values })
        {
            access.probes.remove(at: own)
        }
        return access
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
