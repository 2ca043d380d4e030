import GRDB
import MistKit

/// What a reply shows of the service's clock, in milliseconds since 1970: the service handled the request at a time that
/// is not before `earliest` and not after `latest`.
struct ServiceTime: Hashable {
    var earliest: Int64
    /// `nil` where the reply shows only that the service's time is not before `earliest`.
    var latest: Int64?

    /// The time of a write that the service has stamped.
    init(ofWrite time: Int64) {
        (earliest, latest) = (time, time)
    }

    /// The time of a response.
    ///
    /// - Parameters:
    ///   - date: The header field `Date`, which has whole seconds.
    ///   - version: The latest modification of the records in the response: the service's time is not before it.
    init?(date: Int64?, version: Int64?) {
        guard let earliest = [date, version].compactMap(\.self).max() else { return nil }
        self.earliest = earliest
        latest = date.flatMap { $0 + 999 >= earliest ? $0 + 999 : nil }
    }
}

/// The estimate of the service's clock.
enum ClockOffset {
    /// The difference of clocks below which nothing is corrected, in milliseconds.
    static let tolerance: Int64 = 2000

    /// Compares the present offset with the times of a request. The offset is the service's time minus the machine's.
    ///
    /// All times are in milliseconds since 1970.
    ///
    /// - Parameters:
    ///   - old: The present offset.
    ///   - time: When the service handled a request, by its clock.
    ///   - sent: When the request was sent, by the machine's clock.
    ///   - received: When the reply arrived, by the machine's clock.
    /// - Returns: A better offset, or `nil` when the old one fits.
    static func learned(_ old: Int64, from time: ServiceTime, sent: Int64, received: Int64) -> Int64? {
        let lower = time.earliest - received
        if old < lower - tolerance { return lower }
        if let upper = time.latest.map({ $0 - sent }), old > upper + tolerance { return max(lower, upper) }
        return nil
    }

    /// The difference between the stamps of records and the header field `Date`, where one of the service's clocks is
    /// wrong: the stamps count. It is 0 where the two fit.
    ///
    /// - Parameters:
    ///   - write: When the service stored a write, by its stamp.
    ///   - date: The header field `Date` of the same response, which has whole seconds.
    /// - Returns: The difference, in milliseconds.
    static func bias(ofWrite write: Int64, date: Int64) -> Int64 {
        let difference = write - date
        return (-tolerance...tolerance + 999).contains(difference) ? 0 : difference
    }
}

extension SyncEngine.Transaction {
    /// Learns the offset of the service's clock from a reply, before the reply is applied: from the time of the response,
    /// and from the versions in it.
    ///
    /// - Parameters:
    ///   - result: The reply.
    ///   - date: The header field `Date`, in milliseconds since 1970.
    ///   - sent: When the request was sent, by the machine's clock.
    ///   - now: The machine's time.
    /// - Throws: A `DatabaseError` when the file fails.
    func learnTime(
        from result: Result<SyncReply, CloudKitError>,
        date: Int64?,
        sent: Int64,
        at now: Int64
    ) throws {
        memory.date = date
        let bias = try db.value("SELECT date_bias FROM mist_state", as: Int64.self) ?? 0
        let version = (try? result.get())?.latestModification
        guard let time = ServiceTime(date: date.map { $0 + bias }, version: version) else { return }
        try learn(time, sent: sent, at: now)
    }

    /// Learns the offset of the service's clock from the stamp of a write. This is exact, and corrects the header field
    /// `Date`.
    func learnTime(ofWrite write: Int64, sent: Int64, at now: Int64) throws {
        if let date = memory.date {
            let bias = ClockOffset.bias(ofWrite: write, date: date)
            try db.run("UPDATE mist_state SET date_bias = ?1 WHERE date_bias <> ?1", [bias])
        }
        try learn(ServiceTime(ofWrite: write), sent: sent, at: now)
    }

    /// The service handled a request after it was sent and before now, so the offset lies between two bounds. An old
    /// offset that is less than two seconds outside of the bounds stays.
    private func learn(_ time: ServiceTime, sent: Int64, at now: Int64) throws {
        let old = try db.value("SELECT clock_offset FROM mist_state", as: Int64.self) ?? 0
        guard let offset = ClockOffset.learned(old, from: time, sent: sent, received: now) else {
            // A version alone does not show that the clock is not ahead.
            guard time.latest != nil else { return }
            return try db.run(
                "UPDATE mist_state SET offset_learned = max(offset_learned, ?1), heard = max(heard, ?1)",
                [time.earliest]
            )
        }
        try correctEdits(with: offset, present: max(time.earliest, now + offset))
        try db.run(
            """
            UPDATE mist_state SET clock_offset = ?, heard = min(heard, ?), offset_learned = min(offset_learned, ?)
            """,
            [offset, time.earliest + EditTime.tolerance, time.earliest]
        )
    }

    /// Gives edits that were not sent the time that they would have had with a new offset.
    ///
    /// It is not before the time of the last reply that confirmed the old offset, not after the present, and keeps the
    /// order of the edits. Edits from before that reply keep their times, which were right.
    private func correctEdits(with offset: Int64, present: Int64) throws {
        let confirmed = try db.value("SELECT offset_learned FROM mist_state", as: Int64.self) ?? 0
        var last = Int64.min
        let edits = try db.rows(
            """
            SELECT type, row, field, time, raw FROM mist_edit
            WHERE NOT EXISTS (
                SELECT 1 FROM mist_sent_field AS sent JOIN mist_record ON mist_record.id = sent.record
                WHERE mist_record.type = mist_edit.type AND mist_record.row = mist_edit.row
                    AND sent.field = mist_edit.field AND sent.time = mist_edit.time
            )
            ORDER BY time, raw
            """
        )
        for edit in edits {
            let (before, raw): (Int64, Int64) = (edit["time"], edit["raw"])
            let corrected = before < confirmed ? before : min(max(raw + offset, confirmed), present)
            let time = max(last, corrected)
            last = time
            try db.run(
                "UPDATE mist_edit SET time = ? WHERE type = ? AND row = ? AND field = ?",
                [time, edit["type"] as Int64, edit["row"] as Int64, edit["field"] as Int64]
            )
        }
    }
}
