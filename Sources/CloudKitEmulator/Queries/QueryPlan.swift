import CloudKitModel
import GRDB

/// How a query is answered: which index is walked along, and whether the records come in the result's order already.
///
/// There are two ways. To *stream*, the records come in the order of the result, and the page is full after a few of
/// them. To *gather*, the few records that a filter leaves are all read and then sorted. A query that could do both
/// counts (up to a bound) how many records the filter leaves.
struct QueryPlan {
    let access: QueryAccess
    let order: QueryOrder
    let streams: Bool

    /// Up to how many records gathering is preferred to streaming.
    private static let gatheringLimit = 2000

    /// Picks the way.
    ///
    /// What decides about the order of a query without sorts is the form of the query alone, never the data: with filters
    /// on equality it is the order of making, with a filter on a range the order of that field, otherwise the time of
    /// making.
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

        // Ranges on one key are one walk between the ends.
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
            // Records without a value stand before all values, and match no range.
            if case .field = walks[index].key {
                walks[index].access.lower = QueryCondition.Bound(.absent, isIncluded: false)
            }
        }

        var streamed: QueryAccess?
        var order = sorts
        if sorts.sorts.isEmpty {
            if !filters.isEmpty {
                // Each filter's rows come in the order of making.
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

        // What the filters leave, where they leave little.
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

    /// What a range is a range of.
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

    /// The walk that also asks for what the other filters ask.
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

    /// How many rows the walk gives, as far as it matters.
    fileprivate func count(upTo limit: Int, zones: [Int64], db: Database) throws -> Int {
        var unprobed = self
        unprobed.probes = []
        let (sql, arguments) = unprobed.statement(zones: zones, limit: limit)
        return try db.value("SELECT count(*) FROM (\(sql))", arguments, as: Int.self) ?? 0
    }
}
