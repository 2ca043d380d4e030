import CloudKitModel
import CloudKitWebServices
import MistKit
import MistStore
import Synchronization

extension Mutex {
    /// A mutex that closures share.
    final class Box: Sendable where Value: Sendable {
        private let mutex: Mutex<Value>

        init(_ value: Value) {
            mutex = Mutex(value)
        }

        func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
            try mutex.withLock { (value: inout sending Value) in try body(&value) }
        }
    }
}

extension CloudKitError {
    static func broken(mayHaveBeenDone: Bool) -> CloudKitError {
        var error = CloudKitError(code: .network, message: "The connection broke.")
        error.mayHaveBeenDone = mayHaveBeenDone
        return error
    }

    static func throttled(_ name: String? = nil) -> CloudKitError {
        CloudKitError(
            ErrorResponse(serverErrorCode: .throttled, retryAfter: 2),
            item: name.map { .record(name: $0) }
        )
    }
}

extension CloudKitError {
    static func refusedReceipt(_ name: String) -> CloudKitError {
        CloudKitError(
            ErrorResponse(serverErrorCode: .badRequest, reason: "the receipt is not valid"),
            item: .record(name: name)
        )
    }

    static func undelivered(_ name: String?) -> CloudKitError {
        CloudKitError(ErrorResponse(serverErrorCode: .internalError), item: name.map { .record(name: $0) })
    }

    static func atomic(_ name: String?) -> CloudKitError {
        CloudKitError(ErrorResponse(serverErrorCode: .atomicError), item: name.map { .record(name: $0) })
    }
}

extension SyncRequest {
    var isAtomic: Bool {
        if case .modify(_, _, let isAtomic) = self { isAtomic } else { false }
    }

    var fetchesRecords: Bool {
        switch self {
        case .zoneChanges, .zoneListing, .query, .lookup: true
        case .caller, .databaseChanges, .createZones, .modify: false
        }
    }

    /// The names of the records that it creates.
    var createdNames: [String] {
        guard case .modify(let operations, _, _) = self else { return [] }
        return operations.filter { $0.operationType == .create }.compactMap(\.record.recordName)
    }

    var hasToken: Bool {
        switch self {
        case .databaseChanges(let token): token != nil
        case .zoneChanges(let cursors): cursors.contains { $0.token != nil }
        case .zoneListing(let cursor, _): cursor.token != nil
        case .caller, .createZones, .lookup, .modify, .query: false
        }
    }

    var expiredReply: Result<SyncReply, CloudKitError> {
        let error = CloudKitError(ErrorResponse(serverErrorCode: "CHANGE_TOKEN_EXPIRED"))
        if case .zoneListing = self { return .success(.zoneChanges([.failure(error)])) }
        if case .zoneChanges(let cursors) = self { return .success(.zoneChanges(cursors.map { _ in .failure(error) })) }
        return .failure(error)
    }

    var summary: String {
        switch self {
        case .caller: "users/caller"
        case .databaseChanges(let token): token == nil ? "changes/database from the start" : "changes/database"
        case .zoneChanges(let cursors):
            "changes/zone" + (cursors.contains { $0.token == nil } ? " from the start" : "")
                + cursors.map { " \($0.zoneID.brief)" }.joined()
        case .zoneListing(let cursor, _): "changes/zone for a list" + (cursor.token == nil ? " from the start" : "")
        case .createZones(let zones): "zones/modify" + zones.map { " \($0.brief)" }.joined()
        case .lookup(let names, let zone): "records/lookup in \(zone.brief) of \(names.joined(separator: ", "))"
        case .modify(let operations, let zone, let isAtomic):
            "records/modify in \(zone.brief)\(isAtomic ? ", atomic" : ""): "
                + operations.map { "\($0.operationType.rawValue) \($0.record.recordName ?? "")" }.joined(
                    separator: ", "
                )
        case .query: "records/query"
        }
    }
}

extension Result where Success == SyncReply, Failure == CloudKitError {
    /// Replaces a record of the reply with an error.
    ///
    /// - Returns: The name of the record; `nil` for a reply without records.
    mutating func leaveOutARecord(using generator: inout SplitMix64) -> String? {
        switch self {
        case .success(.zoneChanges(var pages)):
            let filled = pages.indices.filter { index in (try? pages[index].get().results.isEmpty) == false }
            guard let index = filled.randomElement(using: &generator), case .success(var page) = pages[index],
                let name = Self.leaveOutARecord(of: &page.results, using: &generator)
            else { return nil }
            pages[index] = .success(page)
            self = .success(.zoneChanges(pages))
            return name
        case .success(.query(var page)):
            let name = Self.leaveOutARecord(of: &page.results, using: &generator)
            self = .success(.query(page))
            return name
        case .success(.records(var records)):
            let name = Self.leaveOutARecord(of: &records, using: &generator)
            self = .success(.records(records))
            return name
        case .success, .failure:
            return nil
        }
    }

    private static func leaveOutARecord(
        of results: inout [Result<CloudKitModel.Record, CloudKitError>],
        using generator: inout SplitMix64
    ) -> String? {
        guard let position = results.indices.randomElement(using: &generator),
            let name = (try? results[position].get())?.recordName
        else { return nil }
        results[position] = .failure(.undelivered(name))
        return name
    }

    /// Whether the reply says that a record was deleted.
    func acknowledged(_ name: String) -> Bool {
        guard case .success(.records(let results)) = self else { return false }
        return results.contains { result in
            guard case .success(let record) = result else { return false }
            return record.recordName == name && record.isDeleted
        }
    }

    /// Whether there is no response.
    var isLost: Bool {
        if case .failure(let error) = self { error.code == .network } else { false }
    }

    var summary: String {
        switch self {
        case .failure(let error): "\(error.code)"
        case .success(.caller(let user)): user
        case .success(.databaseChanges(let page)):
            "\(page.changedZones.count) changed zones, \(page.deletedZones.count) deleted"
        case .success(.zoneChanges(let pages)):
            pages.map { page in
                switch page {
                case .success(let page):
                    "records "
                        + page.results.successes()
                        .map { ($0.isDeleted ? "-" : "+") + ($0.recordName ?? "") }.joined(separator: " ")
                case .failure(let error): "\(error.code)"
                }
            }.joined(separator: "; ")
        case .success(.zones): "zones"
        case .success(.records(let results)):
            results.map { result in
                switch result {
                case .success(let record): record.recordName ?? ""
                case .failure(let error): "\(error.code)"
                }
            }.joined(separator: ", ")
        case .success(.query(let page)): "\(page.results.count) records"
        }
    }
}

extension ZoneID {
    /// The end of the name.
    var brief: String { String(zoneName.suffix(4)) }
}

extension [String: FieldValue] {
    var summary: String {
        filter { !$0.value.isNull }.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.brief)" }.joined(
            separator: " "
        )
    }
}

extension FieldValue {
    var brief: String {
        switch plain {
        case .string(let text): text
        case .int64(let number): "\(number)"
        case .reference(let reference): "→\(reference.recordName)\(reference.action == .deleteSelf ? "!" : "")"
        case .stringList(let list): "[\(list.joined(separator: ","))]"
        case .asset(let asset): "file of \(asset.size ?? -1)"
        default: "\(plain)"
        }
    }
}

extension Result where Success == SyncReply, Failure == CloudKitError {
    /// The records of the reply that have values.
    var records: [CloudKitModel.Record] {
        guard case .success(let reply) = self else { return [] }
        return switch reply {
        case .caller, .databaseChanges, .zones: []
        case .zoneChanges(let pages): pages.successes().flatMap { $0.results.successes() }
        case .records(let results): results.successes()
        case .query(let page): page.results.successes()
        }
    }
}
