import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import Foundation
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// Compares the results of random queries over random records between the store's table and the rules of the service.
///
/// `MISTKIT_QUERIES` is the number of queries, and `MISTKIT_SEED` repeats a run.
struct QueryDifferentialTests {
    private static let queries =
        ProcessInfo.processInfo.environment["MISTKIT_QUERIES"].flatMap { Int($0) } ?? 2000

    @Test func theStoreFindsWhatTheServiceFinds() throws {
        print("seed \(SeededGenerator.seed)")
        var source = QuerySource(SeededGenerator())
        var (answered, refused, found) = (0, 0, 0)
        for (scope, count) in [(DatabaseScope.public, Self.queries / 2), (.private, Self.queries)] {
            let service = try QueryService(scope)
            let records = try service.save(source.records(isPublic: scope == .public))
            let table = try QueryTable(zone: service.zone)
            try table.insert(records)
            source.take(records)
            while answered < count {
                let (filters, sorts, limit) = (source.filters(), source.sorts(), source.limit())
                let comment = "\(printed(filters, sorts)), limit \(limit.map(String.init) ?? "none")"
                let expected = Result { try service.find(filters, sorts, limit) }
                let actual = Result { try table.find(QueryTable.query(filters, sorts: sorts, limit: limit)) }
                switch (expected, actual) {
                case (.success(let expected), .success(let actual)):
                    #expect(actual == expected, "\(comment)")
                    answered += 1
                    found += actual.count
                case (.failure(let expected), .failure(let actual)):
                    #expect(expected is EmulatorError, "\(comment): \(expected)")
                    #expect((actual as? StoreError)?.code == .query, "\(comment): \(actual)")
                    refused += 1
                case (.success, .failure(let error)):
                    answered += 1
                    Issue.record("The store refuses, and the service does not: \(error): \(comment)")
                case (.failure(let error), .success):
                    answered += 1
                    Issue.record("The service refuses, and the store does not: \(error): \(comment)")
                }
            }
        }
        print("\(answered) queries answered with \(found) records, \(refused) refused")
        #expect(found > answered)
        #expect(refused > Self.queries / 100)
    }

    private func printed(_ filters: [QueryFilter], _ sorts: [QuerySort]) -> String {
        let query = Query<Record>(
            recordType: "Item",
            filters: filters.map { Filter($0) },
            sorts: sorts.map { Sort($0) }
        )
        return "seed \(SeededGenerator.seed), \(query)"
    }
}

/// The service: the emulator's rules over one zone. In a public database, two users write.
private struct QueryService {
    private let emulator: CloudKitEmulator
    private let clock = TestClock()
    private let address: DatabaseAddress
    private let users: [String]
    let zone: ZoneID

    init(_ scope: DatabaseScope) throws {
        let clock = clock
        emulator = try CloudKitEmulator(storage: .memory, clock: { clock.now })
        address = DatabaseAddress("iCloud.com.example.queries", .development, scope)
        let (ann, ben) = (try emulator.createUser(), try emulator.createUser())
        users = scope == .public ? [ann, ben] : [ann]
        zone = scope == .public ? .default : ZoneID(zoneName: "Notes")
        if scope == .private {
            let request = try emulator.request(in: address, as: .user(ann))
            _ = try request.modifyZones(.init(operations: [ZoneOperation(.create, zone: Zone(zoneID: zone))]))
        }
    }

    /// Creates records at different times, and changes some of them. Returns the final version of all of them.
    func save(_ records: [Record]) throws -> [Record] {
        for (index, record) in records.enumerated() {
            // Some records have equal times.
            if index % 3 == 0 { clock.advance(by: 0.25) }
            try modify(.create, record, as: users[index % users.count])
        }
        for (index, record) in records.enumerated() where index % 5 == 0 {
            clock.advance(by: 0.5)
            try modify(.forceUpdate, record, as: users[index % users.count])
        }
        let request = try emulator.request(in: address, as: .user(users[0]))
        let found = try request.lookupRecords(
            .init(records: records.map { .init(recordName: $0.recordName ?? "") }, zoneID: zone)
        )
        return try (found.records ?? []).map { try $0.result.get() }
    }

    private func modify(_ operation: RecordOperation.OperationType, _ record: Record, as user: String) throws {
        let request = try emulator.request(in: address, as: .user(user))
        let reply = try request.modifyRecords(
            .init(operations: [RecordOperation(operation, record: record)], zoneID: zone)
        )
        for result in reply.records ?? [] { _ = try result.result.get() }
    }

    /// The names of the records that a query finds, in order; records that are equal in the sorts are ordered by name.
    func find(_ filters: [QueryFilter], _ sorts: [QuerySort], _ limit: Int?) throws -> [String] {
        let names = QuerySort(system: .recordName, ascending: sorts.first?.ascending ?? true)
        let query = RecordQuery(recordType: "Item", filters: filters, sorts: sorts + [names])
        let request = try emulator.request(in: address, as: .user(users[0]))
        var found: [String] = []
        var marker: String?
        repeat {
            let page = try request.queryRecords(
                .init(query: query, zoneID: zone, desiredKeys: [], continuationMarker: marker)
            )
            found += (page.records ?? []).compactMap(\.recordName)
            marker = page.continuationMarker
        } while marker != nil && limit.map { found.count < $0 } ?? true
        return limit.map { Array(found.prefix($0)) } ?? found
    }
}

/// Generates random records and random queries.
private struct QuerySource {
    private typealias Comparator = QueryFilter.Comparator.Known

    private var random: SeededGenerator
    /// Public databases have no encrypted fields.
    private var fields: [StoredField] = []
    /// The values in records, by field. Most filters use them.
    private var values: [String: [FieldValue]] = [:]
    private var names: [String] = []
    private var users: [String] = []
    private var parents: [String] = []
    private var tags: [String] = []

    private static let texts = [
        "", "a", "A", "ab", "abc", "b", "é", "e\u{301}", "Éa", "\u{D7FF}", "\u{E000}", "\u{10FFFF}", "\u{10FFFF}a", "🥛",
        "ß", "ss",
        "quick brown fox", "The QUICK fox", "brown, fox; 12", "naïve café", "日本語 text", "a_b%c", "'\"\\", " ", "1.5",
    ]
    private static let integers: [Int64] = [
        .min, .max, .min + 1, .max - 1, 0, 1, -1, 2, 3, 9_007_199_254_740_992, 9_007_199_254_740_993,
    ]
    private static let doubles: [Double] = [
        0, -0.0, 1, -1, 0.1, 0.2, 0.30000000000000004, .leastNonzeroMagnitude, .leastNormalMagnitude,
        .greatestFiniteMagnitude,
        -.greatestFiniteMagnitude, 9_007_199_254_740_992, 9_223_372_036_854_775_808, 1e300, .pi,
    ]
    private static let milliseconds: [Int64] = [
        0, -1, 1, 999, 1000, 1_686_106_171_024, 1_686_106_171_025, -62_135_769_600_000, 64_092_211_200_000,
        -11_644_473_600_123,
    ]
    private static let places = [
        (59.9, 10.7), (59.91, 10.75), (60.39, 5.32), (0, 0), (0, 180), (0, -180), (90, 0), (-90, 12), (89.999, 179),
        (-33.9, 151.2),
        (0, 179.9), (0, -179.9), (59.9, 10.70001),
    ]
    private static let datas = [[], [0], [0, 0], [1, 2, 3], [0xFF], [0xFF, 0], Array("text".utf8)].map { Data($0) }

    init(_ random: SeededGenerator) {
        self.random = random
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    private mutating func one<Element>(of elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &random)]
    }

    // MARK: Records

    mutating func records(isPublic: Bool) -> [Record] {
        (names, users, parents, tags) = ([], [], [], [])
        fields = QueryTable.item.fields.filter { !isPublic || !$0.schema.isEncrypted }
        return (0..<100).map { index in
            let name = "\(one(of: ["r", "R", "x", "~"]))\(index)"
            // Each field has its type at the service before a query uses it.
            let isWhole = index == 0
            var record = Record(recordType: "Item", recordName: name)
            for field in fields {
                guard let type = field.type.known, type != .asset, type != .assetList else { continue }
                guard isWhole || chance(70) else { continue }
                let value = value(of: type)
                record.fields[field.name] = field.schema.isEncrypted ? .encrypted(value) : value
            }
            if !isPublic, let parent = names.last, chance(30) { record.parent = Reference(recordName: parent) }
            names.append(name)
            return record
        }
    }

    /// Takes the values for queries from records of the service.
    mutating func take(_ records: [Record]) {
        values = [:]
        for record in records {
            for field in record.fields { values[field.name, default: []].append(field.value) }
            users += [record.created?.userRecordName, record.modified?.userRecordName].compactMap(\.self)
            parents += [record.parent?.recordName].compactMap(\.self)
            tags += [record.recordChangeTag].compactMap(\.self)
        }
    }

    private mutating func value(of type: FieldType.Known) -> FieldValue {
        switch type {
        case .string: return .string(one(of: Self.texts) + (chance(20) ? one(of: Self.texts) : ""))
        case .int64: return .int64(chance(50) ? one(of: Self.integers) : Int64.random(in: -5...5, using: &random))
        case .double: return .double(chance(50) ? one(of: Self.doubles) : Double.random(in: -2...2, using: &random))
        case .timestamp:
            let milliseconds = chance(50) ? one(of: Self.milliseconds) : Int64.random(in: -5...5, using: &random)
            return .timestamp(ColumnValue.date(milliseconds))
        case .bytes: return .bytes(one(of: Self.datas))
        case .reference: return .reference(reference())
        case .location: return .location(location())
        case .stringList, .int64List, .doubleList, .timestampList, .bytesList, .referenceList, .locationList:
            let element = type.element ?? type
            let elements = (0..<Int.random(in: 0...4, using: &random)).map { _ in value(of: element) }
            return .list(elements, of: element) ?? .null
        case .asset, .assetList: return .null
        }
    }

    private mutating func reference() -> Reference {
        // References with other actions would need existing targets.
        Reference(recordName: one(of: ["t1", "t2", "t3", "T1", names.last ?? "t1"]))
    }

    private mutating func location() -> Location {
        let (latitude, longitude) =
            chance(60)
            ? one(of: Self.places)
            : (Double.random(in: -90...90, using: &random), Double.random(in: -180...180, using: &random))
        return Location(latitude: latitude, longitude: longitude, altitude: chance(20) ? 8848.86 : nil)
    }

    // MARK: Queries

    mutating func limit() -> Int? {
        chance(50) ? nil : Int.random(in: 1...120, using: &random)
    }

    mutating func sorts() -> [QuerySort] {
        (0..<one(of: [0, 0, 1, 1, 1, 2, 3])).map { _ in
            let isAscending = chance(50)
            switch Int.random(in: 0..<100, using: &random) {
            case ..<15:
                return QuerySort(one(of: ["place", "spot"]), distanceFrom: location(), ascending: isAscending)
            case ..<35:
                return QuerySort(system: one(of: SystemFieldName.allCases), ascending: isAscending)
            case ..<38:
                return QuerySort(one(of: fields).name, ascending: isAscending)
            default:
                let fields = ["text", "note", "number", "order", "ratio", "date", "link"]
                return QuerySort(one(of: fields), ascending: isAscending)
            }
        }
    }

    mutating func filters() -> [QueryFilter] {
        (0..<one(of: [0, 1, 1, 1, 1, 2, 2, 3])).map { _ in chance(20) ? systemFilter() : filter() }
    }

    private mutating func systemFilter() -> QueryFilter {
        let name = one(of: SystemFieldName.allCases)
        let comparator: Comparator
        let value: FieldValue
        func references(_ names: [String]) -> FieldValue { .referenceList(names.map { Reference(recordName: $0) }) }
        switch name {
        case .createdTimestamp, .modifiedTimestamp:
            comparator = one(of: [
                .equals, .notEquals, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals,
            ])
            let start = Date(timeIntervalSince1970: 1_767_225_600)
            value = .timestamp(start.addingTimeInterval(0.25 * Double(Int.random(in: -1...75, using: &random))))
        default:
            let known = name == .recordName ? names : name == .parent ? parents : name == .share ? names : users
            let wanted = (0...Int.random(in: 0...3, using: &random)).map { _ in
                known.isEmpty || chance(10) ? "missing" : one(of: known)
            }
            comparator = one(of: [.equals, .notEquals, .in, .notIn])
            value = comparator.takesList ? references(wanted) : .reference(Reference(recordName: wanted[0]))
        }
        // Each system field has a second name, which is used like the name of a field of the type.
        let aliases: [SystemFieldName: String] = [
            .recordName: "___recordID", .createdTimestamp: "___createTime", .modifiedTimestamp: "___modTime",
            .createdUserRecordName: "___createdBy", .modifiedUserRecordName: "___modifiedBy", .parent: "___parent",
            .share: "___share",
        ]
        if chance(10), let tag = tags.first {
            return QueryFilter("___etag", one(of: [.equals, .notEquals, .lessThan, .beginsWith]), .string(tag))
        }
        if chance(20), let alias = aliases[name] { return QueryFilter(alias, .init(comparator), value) }
        return QueryFilter(system: name, .init(comparator), value)
    }

    private mutating func filter() -> QueryFilter {
        if chance(8) {
            // A filter without a field searches the words of all fields.
            var filter = QueryFilter("", one(of: [.containsAllTokens, .containsAnyTokens]), value(of: .string))
            filter.fieldName = nil
            return filter
        }
        let field = one(of: fields)
        let type = field.type.known ?? .string
        // In most cases, a comparator that fits the type.
        let comparators = Comparator.allCases.filter { chance(1) || fits($0, type) }
        let comparator = one(of: comparators.isEmpty ? Comparator.allCases : comparators)
        let element = chance(3) ? one(of: FieldType.Known.allCases) : type.element ?? type
        var filter = QueryFilter(field.name, .init(comparator), .null)
        switch comparator {
        case .near:
            let center = location()
            filter.fieldValue = .location(center)
            filter.distance = one(of: [0, 1, 5000, 500_000, 1e7, 3e7, Double.random(in: 0...2e7, using: &random)])
        case .beginsWith, .notBeginsWith, .listMemberBeginsWith, .notListMemberBeginsWith:
            let text = wanted(field.name, .string).stringValue ?? ""
            filter.fieldValue = .string(
                String(text.unicodeScalars.prefix(Int.random(in: 0...2, using: &random)))
            )
        case .in, .notIn, .listContainsAny, .notListContainsAny, .listContainsAll, .notListContainsAll:
            let count = chance(2) ? 251 : chance(5) ? 100 : Int.random(in: 0...3, using: &random)
            let elements = (0..<count).map { _ in wanted(field.name, element) }
            filter.fieldValue = .list(elements, of: element) ?? wanted(field.name, element)
        case .equals, .notEquals, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .listContains,
            .notListContains, .containsAllTokens, .containsAnyTokens:
            filter.fieldValue = wanted(field.name, element)
        }
        return filter
    }

    /// A value of a type: in most cases one that a record has in the field, alone or in a list.
    private mutating func wanted(_ field: String, _ type: FieldType.Known) -> FieldValue {
        let known = (values[field] ?? []).flatMap { $0.elements ?? [$0] }.filter { $0.type == type.type }
        return known.isEmpty || chance(25) ? value(of: type) : one(of: known)
    }

    private func fits(_ comparator: Comparator, _ type: FieldType.Known) -> Bool {
        switch comparator {
        case .equals, .notEquals, .in, .notIn: type.element == nil && type != .location && type != .asset
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals:
            [.string, .int64, .double, .timestamp].contains(type)
        case .near: type == .location
        case .beginsWith, .notBeginsWith, .containsAllTokens, .containsAnyTokens: type == .string
        case .listMemberBeginsWith, .notListMemberBeginsWith: type == .stringList
        case .listContains, .notListContains, .listContainsAny, .notListContainsAny, .listContainsAll,
            .notListContainsAll:
            type.element.map { $0 != .location && $0 != .asset } ?? false
        }
    }
}
