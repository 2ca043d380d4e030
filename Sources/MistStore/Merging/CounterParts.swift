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

/// What a device has added to a counter in another copy of a moved record, and what this row has taken over of it.
///
/// Several devices may find the same part in a former zone, and the device that wrote it may find it as well. So each
/// sends the part as it is: whichever comes second sees that the version contains it.
struct CarriedCount: Hashable, Sendable {
    /// The part, as the other copy had it.
    var part: EditTimes.Part
    /// The amount by which the row's value has grown.
    var amount: Int64
}

/// How much of the edit of a counter a version contains.
struct StoredCount: Hashable, Sendable {
    /// The amount of the edit that the version contains.
    var sum: Int64
    /// Whether that is certain.
    var isCertain = true
    /// The inherited amount that the version does not contain.
    var inherited: InheritedCount?
    /// The carried amounts that it does not contain.
    var carried: [CarriedCount] = []
}

/// An amount of a counter that was pending when a file was copied. Each copy has it, and it must count once.
struct InheritedCount: Hashable, Sendable {
    /// The number of the file that was copied.
    var device: Int64
    var amount: Int64

    /// The part that each copy sends for the amount: the same one, under the common number, so that the second copy
    /// finds it. Its sequence is the next one after the part that was known when the file was copied. All other
    /// sequences are times.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - known: The edit times of the version that the edit was made on.
    /// - Returns: The part.
    func part(of name: String, known: EditTimes) -> EditTimes.Part {
        let before = known.part(of: name, device: device)
        return EditTimes.Part(
            field: Checksum.of(name: name),
            device: device,
            sequence: CounterParts.sequence(after: before),
            sum: (before?.sum ?? 0) &+ amount
        )
    }
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

    /// The sequence of a part for an amount that was inherited.
    static func sequence(after part: EditTimes.Part?) -> Int64 { (part?.sequence ?? 0) &+ 1 }

    /// The amount that an edit adds.
    static func change(by edit: PendingEdit) -> Int64 {
        (edit.value?.int64Value ?? 0) &- (edit.base?.int64Value ?? 0)
    }

    /// What an edit adds beside the amounts that other devices send, too.
    static func ownChange(by edit: PendingEdit) -> Int64 {
        let shared = edit.carried.map(\.amount) + (edit.inherited.map { [$0.amount] } ?? [])
        return shared.reduce(change(by: edit), &-)
    }

    /// The parts to send with the pending edit.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - device: This device.
    ///   - edit: The pending edit.
    ///   - known: The edit times of the version that the edit was made on.
    ///   - time: The present time, in milliseconds since 1970 by the service's clock.
    /// - Returns: The parts: that of the device, with everything that it has added since its part was folded last, and
    ///   before it those that were carried, and the one for an inherited amount. The device's own part is left out where
    ///   it adds nothing beside these.
    static func parts(
        of name: String,
        device: Int64,
        edit: PendingEdit,
        known: EditTimes,
        at time: Int64
    ) -> [EditTimes.Part] {
        let known = known.adding(edit.carried.map(\.part))
        // One that the version has passed is not sent.
        var others = edit.carried.map(\.part).filter(known.parts.contains)
        if let inherited = edit.inherited { others.append(inherited.part(of: name, known: known)) }
        let rest = ownChange(by: edit)
        if rest == 0, !others.isEmpty { return others }
        return others + [part(of: name, device, rest, known, at: time)]
    }

    private static func part(
        of name: String,
        _ device: Int64,
        _ change: Int64,
        _ known: EditTimes,
        at time: Int64
    ) -> EditTimes.Part {
        let field = Checksum.of(name: name)
        let latest = known.parts.filter { $0.field == field }.map(\.sequence).max()
        let before = known.part(of: name, device: device)?.sum ?? 0
        return EditTimes.Part(
            field: field,
            device: device,
            sequence: max(time, latest.map { $0 &+ 1 } ?? time),
            sum: before &+ change
        )
    }

    /// What devices have added to a counter in a version, and not in an earlier one.
    static func added(to name: String, _ version: EditTimes, since base: EditTimes) -> [CarriedCount] {
        let field = Checksum.of(name: name)
        return version.parts.filter { $0.field == field }.compactMap { part in
            let before = base.part(of: name, device: part.device)
            guard part.sequence > before?.sequence ?? .min else { return nil }
            return CarriedCount(part: part, amount: part.sum &- (before?.sum ?? 0))
        }
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
    /// - Returns: What the version contains, and which of the amounts that other devices send, too, it does not contain.
    static func stored(
        of name: String,
        _ edit: PendingEdit,
        _ history: CounterHistory,
        in remote: RemoteVersion
    ) -> StoredCount {
        let version = remote.times
        if let time = version.time(of: name, remote.fields[name]), time.milliseconds == edit.time.milliseconds,
            history.devices.contains(time.device)
        {
            return StoredCount(sum: change(by: edit))
        }
        let carried = stored(of: name, edit.carried, history.known, in: version)
        var history = history
        history.known = history.known.adding(edit.carried.map(\.part))
        var writes = history.writes.filter { write in
            guard write.field == Checksum.of(name: name) else { return false }
            // A part that was carried is looked for as such, and a passed one cannot come any more.
            return history.known.part(of: name, device: write.device).map { $0.sequence < write.sequence } ?? true
        }
        if let inherited = edit.inherited { writes.removeAll { $0.device == inherited.device } }
        let own = stored(of: name, writes, history, in: version)
        let common =
            edit.inherited.map { stored(of: name, $0, history, in: version) }
            ?? (sum: amountOfCopies(of: name, besides: writes, history, in: version), isCertain: true)
        let rest = edit.inherited.map { InheritedCount(device: $0.device, amount: $0.amount &- common.sum) }
        return StoredCount(
            sum: own.sum &+ common.sum &+ carried.sum,
            isCertain: own.isCertain && common.isCertain,
            inherited: rest?.amount == 0 ? nil : rest,
            carried: carried.rest
        )
    }

    /// What was pending when the file was copied, and another copy has sent.
    private static func amountOfCopies(
        of name: String,
        besides writes: [EditTimes.Part],
        _ history: CounterHistory,
        in version: EditTimes
    ) -> Int64 {
        history.devices.reduce(0) { sum, device in
            let known = history.known.part(of: name, device: device)
            guard let theirs = version.part(of: name, device: device), !writes.contains(theirs),
                theirs.sequence == sequence(after: known)
            else { return sum }
            return sum &+ theirs.sum &- (known?.sum ?? 0)
        }
    }

    /// How much of the carried amounts a version contains. Each device counts on from its own latest part, wherever it
    /// wrote it: so a part with the same sequence or a later one contains the carried one.
    private static func stored(
        of name: String,
        _ counts: [CarriedCount],
        _ known: EditTimes,
        in version: EditTimes
    ) -> (sum: Int64, rest: [CarriedCount]) {
        counts.reduce(into: (sum: 0, rest: [])) { result, count in
            let theirs = version.part(of: name, device: count.part.device)
            if let theirs, theirs.sequence >= count.part.sequence {
                result.sum &+= count.amount
                return
            }
            let before = known.part(of: name, device: count.part.device)
            let isLater = theirs.map { $0.sequence > before?.sequence ?? .min } ?? false
            let contained = isLater ? (theirs?.sum ?? 0) &- (before?.sum ?? 0) : 0
            result.sum &+= contained
            result.rest.append(CarriedCount(part: count.part, amount: count.amount &- contained))
        }
    }

    /// How much of an inherited amount a version contains. A later part under the former number was written by a copy:
    /// by this one or by the other before the file was copied, by one that has noticed the copy, which sends the same
    /// part, or by one that has not, which sends all that is pending.
    private static func stored(
        of name: String,
        _ inherited: InheritedCount,
        _ history: CounterHistory,
        in version: EditTimes
    ) -> (sum: Int64, isCertain: Bool) {
        let known = history.known.part(of: name, device: inherited.device)
        guard let theirs = version.part(of: name, device: inherited.device),
            theirs.sequence > known?.sequence ?? .min
        else { return (0, true) }
        let amount = theirs.sum &- (known?.sum ?? 0)
        if history.writes.contains(theirs) { return (amount, true) }
        let isSame = theirs.sequence != sequence(after: known) || amount == inherited.amount
        return (inherited.amount, isSame)
    }

    private static func stored(
        of name: String,
        _ writes: [EditTimes.Part],
        _ history: CounterHistory,
        in version: EditTimes
    ) -> (sum: Int64, isCertain: Bool) {
        let field = Checksum.of(name: name)
        func amount(of write: EditTimes.Part) -> Int64 {
            let before = history.known.part(of: name, device: write.device)?.sum ?? 0
            return write.sum &- before
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
