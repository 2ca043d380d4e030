import Foundation
import MistKit

/// Follows the records of some types by queries, where there is no change feed: in a public database, and in a default
/// zone.
///
/// Each look asks for the records that were modified since the last one. Queries do not find deleted records.
struct QueryWatcher: Sendable {
    private let database: CloudKitDatabase
    private let zone: ZoneID?
    private let types: [String]
    private var output: WatchOutput
    private var positions: [String: WatchPosition] = [:]

    init(_ database: CloudKitDatabase, zone: ZoneID?, types: [String], output: WatchOutput) {
        self.database = database
        self.zone = zone
        self.types = types
        self.output = output
    }

    /// Prints changes until the task is cancelled, or the output has reached its limit.
    mutating func run(interval: Duration) async throws {
        for type in types { positions[type] = try await begin(type) }
        Terminal.writeError("Watching \(types.joined(separator: ", ")) by queries; Ctrl-C ends it.")
        var wait = PollingInterval(shortest: interval)
        while true {
            try await Task.sleep(for: wait.current)
            var isChanged = false
            for type in types {
                if try await poll(type) { isChanged = true }
            }
            if output.isFull { return }
            wait.update(isChanged: isChanged)
        }
    }

    /// Notes the newest records, so that only later changes are printed.
    private func begin(_ type: String) async throws -> WatchPosition {
        var position = WatchPosition()
        let newest = Query(recordType: type, sorts: [Sort(.modifiedTimestamp, ascending: false)])
        for try await record in database.records(matching: newest, inZone: zone, desiredKeys: [], pageSize: 200) {
            if !position.covers(record) { break }
            position.insert(record)
        }
        return position
    }

    /// Prints the records that were modified since the last poll.
    ///
    /// - Returns: Whether there are any.
    private mutating func poll(_ type: String) async throws -> Bool {
        guard var position = positions[type] else { return false }
        var isChanged = false
        let query = Query(
            recordType: type,
            filters: [Filter(.modifiedTimestamp, .greaterThanOrEquals, .timestamp(position.start))],
            sorts: [Sort(.modifiedTimestamp, ascending: true)]
        )
        for try await record in database.records(matching: query, inZone: zone) where position.insert(record) {
            isChanged = true
            try output.print(WatchedChange(record), in: zone ?? .default)
        }
        position.forgetOldRecords()
        positions[type] = position
        return isChanged
    }
}

/// How far the records of a type were followed by the times of their changes.
///
/// The index of the service is some seconds late, and not evenly: a change can appear after a later change. So each
/// look goes back a minute, and the states that are already known from that minute are skipped.
struct WatchPosition: Hashable, Sendable {
    /// How far a look goes back from the last known change, in seconds.
    private static let overlap: TimeInterval = 60

    private struct Known: Hashable {
        var tag: String?
        var time: Date
    }

    private var last = Date(timeIntervalSince1970: 0)
    private var known: [String: Known] = [:]

    /// Where the next look begins.
    var start: Date { max(last.addingTimeInterval(-Self.overlap), Date(timeIntervalSince1970: 0)) }

    /// Checks a record of a list that begins with the newest.
    ///
    /// - Parameter record: The record.
    /// - Returns: Whether the next look will ask for the record again.
    func covers(_ record: Record) -> Bool {
        known.isEmpty || (record.modified?.timestamp ?? .distantPast) >= start
    }

    /// Notes a state of a record.
    ///
    /// - Returns: Whether the state is new.
    @discardableResult
    mutating func insert(_ record: Record) -> Bool {
        let state = Known(tag: record.recordChangeTag, time: record.modified?.timestamp ?? last)
        let earlier = known.updateValue(state, forKey: record.recordName ?? "")
        guard earlier == nil || earlier?.tag != state.tag else { return false }
        last = max(last, state.time)
        return true
    }

    /// Forgets records that no look asks for any more.
    mutating func forgetOldRecords() {
        let start = start
        known = known.filter { $0.value.time >= start }
    }
}
