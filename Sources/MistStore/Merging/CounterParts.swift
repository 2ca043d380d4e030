import CloudKitModel

/// What decides how much of the edit of a counter a version contains.
struct CounterHistory: Hashable, Sendable {
    /// The edit times of the version that the edit was made on.
    var known = EditTimes()
    /// The edit times as this file last sent them.
    var written: EditTimes?
    /// Whether the outcome of that request is unknown.
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

    /// How much of the last write of this file a version contains: a pure decision.
    ///
    /// The version contains the write if it has the part that was written. It contains the whole edit if it has the
    /// time of this edit: another copy of the file has sent it. Where the reply was lost, two things can hide the write:
    /// another copy of the file has written later under the same number, or the part was folded. Then the write counts
    /// as contained, and is not certain.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - edit: The pending edit.
    ///   - history: The version that the edit was made on, and the last write.
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
        guard let written = history.written?.parts.filter({ $0.field == field }).max(by: { $0.sequence < $1.sequence })
        else { return (0, true) }
        let before = history.known.part(of: name, device: written.device)
        guard written != before else { return (0, true) }
        let amount = written.sum.subtractingReportingOverflow(before?.sum ?? 0).partialValue
        let theirs = version.part(of: name, device: written.device)
        if theirs == written { return (amount, true) }
        // An earlier write of this device that was given up has arrived after all.
        if let theirs, theirs.sequence > before?.sequence ?? .min, theirs.sequence < written.sequence {
            return (theirs.sum.subtractingReportingOverflow(before?.sum ?? 0).partialValue, false)
        }
        guard history.isUncertain else { return (0, true) }
        let isOverwritten = theirs.map { $0.sequence > written.sequence } ?? false
        let others = version.parts.filter { $0.field == field }
        let isFolded = theirs == nil && others.count >= kept && others.allSatisfy { $0.sequence > written.sequence }
        return isOverwritten || isFolded ? (amount, false) : (0, true)
    }
}
