import CloudKitModel

/// What decides how much of the edit of a counter a version contains.
struct CounterHistory: Hashable, Sendable {
    /// The edit times of the version that the edit was made on.
    var known = EditTimes()
    /// The parts that this file has sent, and that no version has shown yet.
    var writes: [EditTimes.Part] = []
    /// Whether the outcome of the last request is unknown.
    var isUncertain = false
    /// The numbers of this file. Other copies of the file may have some of them, too.
    var devices: Set<Int64> = []
}

/// The parts of devices in counters.
///
/// The value of a counter contains everything that was added. A part is the receipt of one device: it shows the device
/// that a version contains its last write, where the reply was lost and other devices have written since then. The
/// number of a part, its sequence, is the time of the write, and later than the numbers of all other parts, so that two
/// copies of a file do not write the same part.
enum CounterParts {
    /// The number of parts that a record keeps for each counter: the latest ones.
    ///
    /// The others are folded into the base: they are left out, and the value stays as it is. A device whose part was
    /// folded counts from zero the next time.
    static let kept = 16

    /// The amount that an edit adds.
    static func change(by edit: PendingEdit) -> Int64 {
        (edit.value?.int64Value ?? 0).subtractingReportingOverflow(edit.base?.int64Value ?? 0).partialValue
    }

    /// The part to send with the pending edit.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - device: This device.
    ///   - edit: The pending edit.
    ///   - known: The edit times of the version that the edit was made on.
    ///   - time: The present time, in milliseconds since 1970 by the service's clock.
    /// - Returns: The part, with everything that the device has added since its part was folded last.
    static func part(
        of name: String,
        device: Int64,
        edit: PendingEdit,
        known: EditTimes,
        at time: Int64
    ) -> EditTimes.Part {
        let field = Checksum.of(name: name)
        let latest = known.parts.filter { $0.field == field }.map(\.sequence).max()
        let before = known.part(of: name, device: device)?.sum ?? 0
        return EditTimes.Part(
            field: field,
            device: device,
            sequence: max(time, latest.map { $0 &+ 1 } ?? time),
            sum: before.addingReportingOverflow(change(by: edit)).partialValue
        )
    }

    /// The parts that a record keeps. It depends on the parts only, so all devices compute the same.
    static func folded(_ parts: [EditTimes.Part]) -> [EditTimes.Part] {
        Dictionary(grouping: parts, by: \.field).values.flatMap { parts in
            parts.sorted { ($0.sequence, $0.device) > ($1.sequence, $1.device) }.prefix(kept)
        }
    }

    /// The parts that this file has sent, and that may still come in a version.
    ///
    /// A write that was refused or given up is among them, because its request may arrive late. Parts that the known
    /// version has, or has passed, are left out.
    ///
    /// - Parameters:
    ///   - earlier: The parts that were sent before.
    ///   - times: The edit times that are sent now.
    ///   - known: The edit times of the known version.
    /// - Returns: The latest ``kept`` parts of each counter.
    static func writes(
        _ earlier: [EditTimes.Part],
        adding times: EditTimes,
        to known: EditTimes
    ) -> [EditTimes.Part] {
        folded(
            (earlier + times.parts).filter { part in
                let shown = known.parts.first { $0.field == part.field && $0.device == part.device }
                return shown.map { $0.sequence < part.sequence } ?? true
            }
        )
    }

    /// How much of the edit of a counter a version contains: a pure decision.
    ///
    /// The version contains a write if it has the part that was written. Another part under the same number is a write
    /// of another copy of the file. The version contains the whole edit if it has the time of this edit: another copy
    /// has sent it. Where the reply was lost, two things can hide the write: another copy has written later under the
    /// same number, or the part was folded. Then the write counts as contained, and is not certain.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - edit: The pending edit.
    ///   - history: The version that the edit was made on, and the writes since then.
    ///   - remote: The version.
    /// - Returns: The amount of the edit that the version contains, and whether that is certain.
    static func stored(
        of name: String,
        _ edit: PendingEdit,
        _ history: CounterHistory,
        in remote: RemoteVersion
    ) -> (sum: Int64, isCertain: Bool) {
        let version = remote.times
        if let time = version.time(of: name, remote.fields[name]), time.milliseconds == edit.time.milliseconds,
            history.devices.contains(time.device)
        {
            return (change(by: edit), true)
        }
        let field = Checksum.of(name: name)
        let writes = history.writes.filter { $0.field == field && !history.known.parts.contains($0) }
        func amount(of write: EditTimes.Part) -> Int64 {
            let before = history.known.part(of: name, device: write.device)?.sum ?? 0
            return write.sum.subtractingReportingOverflow(before).partialValue
        }
        if let write = writes.filter(version.parts.contains).max(by: { $0.sequence < $1.sequence }) {
            return (amount(of: write), true)
        }
        guard history.isUncertain, let last = writes.max(by: { $0.sequence < $1.sequence }) else { return (0, true) }
        let theirs = version.part(of: name, device: last.device)
        let isOverwritten = theirs.map { $0.sequence > last.sequence } ?? false
        let others = version.parts.filter { $0.field == field }
        let isFolded = theirs == nil && others.count >= kept && others.allSatisfy { $0.sequence > last.sequence }
        return isOverwritten || isFolded ? (amount(of: last), false) : (0, true)
    }
}
