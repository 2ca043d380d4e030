import GRDB
import MistKit
import SQLiteTables

/// What a reply shows of the service's clock: the service handled the request at a time that is not before `earliest`
/// and not after `latest`.
struct ClockReading: Hashable {
    var earliest: ServiceTime
    /// `nil` where the reply shows only that the service's time is not before `earliest`.
    var latest: ServiceTime?

    /// The time of a write that the service has stamped.
    init(ofWrite time: ServiceTime) {
        (earliest, latest) = (time, time)
    }

    /// The time of a response.
    ///
    /// - Parameters:
    ///   - date: The header field `Date`, which has whole seconds.
    ///   - version: The latest modification of the records in the response: the service's time is not before it.
    init?(date: ServiceTime?, version: ServiceTime?) {
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
    /// - Parameters:
    ///   - old: The present offset, in milliseconds.
    ///   - time: When the service handled a request, by its clock.
    ///   - sent: When the request was sent, by the machine's clock.
    ///   - received: When the reply arrived, by the machine's clock.
    /// - Returns: A better offset, or `nil` when the old one fits.
    static func corrected(
        _ old: Int64,
        from time: ClockReading,
        sent: MachineTime,
        received: MachineTime
    ) -> Int64? {
        let lower = time.earliest.rawValue - received.rawValue
        if old < lower - tolerance { return lower }
        if let upper = time.latest.map({ $0.rawValue - sent.rawValue }), old > upper + tolerance {
            return max(lower, upper)
        }
        return nil
    }

    /// The difference between the stamps of records and the header field `Date`, where one of the service's clocks is
    /// wrong: the stamps count. It is 0 where the two fit.
    ///
    /// - Parameters:
    ///   - write: When the service stored a write, by its stamp.
    ///   - date: The header field `Date` of the same response, which has whole seconds.
    /// - Returns: The difference, in milliseconds.
    static func bias(ofWrite write: ServiceTime, date: ServiceTime) -> Int64 {
        let difference = write.rawValue - date.rawValue
        return (-tolerance...tolerance + 999).contains(difference) ? 0 : difference
    }
}

/// Corrects the offset of the service's clock by the times of replies.
struct ServiceClock: EngineProcedure {
    let transaction: EngineTransaction
    /// When the request was sent.
    let sent: MachineTime

    /// Corrects it by the time of a response, and by the versions in it, before the reply is applied.
    func correctOffset(from result: Result<SyncReply, CloudKitError>) throws {
        let version = (try? result.get())?.latestModification
        let bias = try fileState.dateBias
        guard let reading = ClockReading(date: transaction.date.map { $0 + bias }, version: version) else { return }
        try correctOffset(by: reading)
    }

    /// Corrects it by the stamp of a write. This is exact, and corrects the header field `Date`.
    func correctOffset(ofWrite write: ServiceTime) throws {
        if let date = transaction.date { try fileState.setDateBias(ClockOffset.bias(ofWrite: write, date: date)) }
        try correctOffset(by: ClockReading(ofWrite: write))
    }

    /// The service handled a request after it was sent and before now, so the offset lies between two bounds. An old
    /// offset that is less than two seconds outside of the bounds stays.
    private func correctOffset(by reading: ClockReading) throws {
        let old = try fileState.clockOffset
        guard let offset = ClockOffset.corrected(old, from: reading, sent: sent, received: now) else {
            // A version alone does not show that the clock is not ahead.
            if reading.latest != nil { try fileState.confirmOffset(at: reading.earliest) }
            return
        }
        try correctEdits(with: offset, present: max(reading.earliest, now.service(offset: offset)))
        try fileState.setOffset(offset, confirmedAt: reading.earliest)
    }

    /// Gives edits that were not sent the time that they would have had with a new offset.
    ///
    /// It is not before the time of the last reply that confirmed the old offset, not after the present, and keeps the
    /// order of the edits. Edits from before that reply keep their times, which were right.
    private func correctEdits(with offset: Int64, present: ServiceTime) throws {
        let confirmed = try fileState.offsetConfirmed
        var last = ServiceTime(.min)
        for edit in try pendingEdits.notSent() {
            let corrected =
                edit.time < confirmed
                ? edit.time : min(max(edit.raw.service(offset: offset), confirmed), present)
            last = max(last, corrected)
            try pendingEdits.setTime(last, of: edit)
        }
    }
}

extension EngineProcedure {
    /// Takes note of the times of a version: later edits of this device have times after them.
    func noteTimes(_ times: EditTimes, ofVersion modified: ServiceTime) {
        let clamped = Set(times.times.values).map { ($0, $0.clamped(toVersionOf: modified.rawValue)) }
        let limited = clamped.count { $0 != $1 }
        if limited > 0 { summary.clamped += limited }
        let latest = clamped.map(\.1.milliseconds).max() ?? 0
        fileState.noteTime(ServiceTime(max(latest, modified.rawValue) + 1))
    }
}
