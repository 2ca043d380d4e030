package import CloudKitModel
import MistKit

/// A change of a field that the service has not acknowledged.
struct PendingEdit: Hashable, Sendable {
    /// The value here.
    var value: FieldValue?
    /// The value in the service's version that was here when the edit was made; `nil` also for a record that the
    /// service did not have.
    var base: FieldValue?
    var time: EditTime
    /// The part of a counter's change that the file had when it was copied; `nil` where it had none.
    var inherited: InheritedCount?
    /// The parts of a counter's change that come from another copy of a moved record.
    var carried: [CarriedCount] = []
}

/// A version of a record as the service has it.
struct RemoteVersion: Hashable, Sendable {
    var fields: [String: FieldValue]
    var times: EditTimes
    /// When the version was made, in milliseconds since 1970 by the service's clock.
    var modified: Int64

    /// When a field was edited: the time in `mist_edits`, or else the time of the version.
    func time(of name: String) -> EditTime {
        times.time(of: name, fields[name])?.clamped(toVersionOf: modified)
            ?? EditTime(milliseconds: modified, device: 0)
    }
}

/// How the fields of a type are merged.
struct MergeRules: Sendable {
    /// The policies of the fields whose policy is not `latest`.
    var policies: [String: FieldMerge] = [:]
    /// Fields that a closure merges.
    var closures: [String: MergeClosure] = [:]
    /// Whether records of the type have no `mist_edits`. Then a field that differs from the base counts as edited at
    /// the time of the version.
    var ignoresEditTimes = false
}

/// Merges the values of one field: the value that both sides began with, the value on this device, and the service's
/// value. If it throws, the record is parked.
package typealias MergeClosure =
    @Sendable (_ base: FieldValue?, _ local: FieldValue?, _ remote: FieldValue?) throws -> FieldValue?

/// The result of a merge.
struct MergeResult: Hashable, Sendable {
    /// The values of all fields.
    var fields: [String: FieldValue]
    /// The edits that are still to be sent, with the service's version as their base.
    var remaining: [String: PendingEdit]
    /// The values of this device that lost to another edit.
    var lost: [String: FieldValue?]
    /// The values of counters of which it is not known whether the version contains this device's edit. They count as
    /// contained.
    var unclear: [String: FieldValue?] = [:]
    /// The values of this device that the policy of their field has put back.
    var putBack: [String: FieldValue?] = [:]
}

/// Merges a record that was changed on both sides. Changes from feeds, from queries and from lookups after a
/// conflict are all merged here.
///
/// - Parameters:
///   - edits: The edits of this device that were not acknowledged, by field.
///   - remote: The service's version.
///   - counters: What decides how much of the edit of a counter the version contains.
///   - rules: How each field is merged.
///   - now: The time of an edit that a closure makes, and this device.
/// - Returns: The values of all fields, the edits that are still to be sent, and what lost.
/// - Throws: The error of a closure.
func merge(
    _ edits: [String: PendingEdit],
    into remote: RemoteVersion,
    _ counters: CounterHistory,
    _ rules: MergeRules,
    now: EditTime
) throws -> MergeResult {
    var result = MergeResult(fields: remote.fields, remaining: [:], lost: [:])
    for (name, edit) in edits {
        let theirs = remote.fields[name]
        var merged: FieldValue?
        var time = edit.time
        var inherited: InheritedCount?
        var carried: [CarriedCount] = []
        if let closure = rules.closures[name] {
            merged = theirs
            if !edit.value.isSame(as: theirs) {
                merged = edit.base.isSame(as: theirs) ? edit.value : try closure(edit.base, edit.value, theirs)
                time = max(edit.time, now)
            }
        } else {
            switch rules.policies[name] ?? .latest {
            case .latest:
                let theirTime = timeOfRemote(name, edit, remote, rules)
                // A copy of this file has sent this edit, under a number that both had.
                let isSent =
                    edit.time.milliseconds == theirTime.milliseconds && counters.devices.contains(theirTime.device)
                let isOurs = edit.time > theirTime && !isSent
                merged = isOurs ? edit.value : theirs
                if isOurs, !rules.ignoresEditTimes || !edit.value.isSame(as: theirs) {
                    // Equal values are sent too, because the service does not have the later time.
                    result.set(name, edit.value)
                    result.remaining[name] = PendingEdit(value: edit.value, base: theirs, time: edit.time)
                    continue
                }
            case .greatest, .smallest, .union:
                merged = join(edit.value, theirs, by: rules.policies[name] ?? .latest)
            case .counter:
                let stored = CounterParts.stored(of: name, edit, counters, in: remote)
                merged = counter(theirs, edit, stored: stored.sum)
                if !stored.isCertain { result.unclear[name] = .some(edit.value) }
                (inherited, carried) = (stored.inherited, stored.carried)
            }
        }
        result.set(name, merged)
        // An inherited or carried amount is sent even if the rest takes it back: another device sends the amount alone.
        if merged.isSame(as: theirs), inherited == nil, carried.isEmpty {
            let isPartOfResult = rules.policies[name] == .union || rules.policies[name] == .counter
            let isPutBack = (rules.policies[name] ?? .latest).putsBack(edit.value, beside: edit.base)
            if isPutBack {
                result.putBack[name] = .some(edit.value)
            } else if !edit.value.isSame(as: theirs), !isPartOfResult {
                result.lost[name] = .some(edit.value)
            }
        } else {
            if rules.policies[name] == .union, FieldMerge.union.putsBack(edit.value, beside: edit.base) {
                result.putBack[name] = .some(edit.value)
            }
            result.remaining[name] = PendingEdit(
                value: merged,
                base: theirs,
                time: time,
                inherited: inherited,
                carried: carried
            )
        }
    }
    return result
}

private func timeOfRemote(
    _ name: String,
    _ edit: PendingEdit,
    _ remote: RemoteVersion,
    _ rules: MergeRules
) -> EditTime {
    guard rules.ignoresEditTimes else { return remote.time(of: name) }
    let isUnchanged = edit.base.isSame(as: remote.fields[name])
    return EditTime(milliseconds: isUnchanged ? .min : remote.modified, device: 0)
}

/// The join of two values by a policy that needs no times: commutative, associative and idempotent.
func join(_ left: FieldValue?, _ right: FieldValue?, by policy: FieldMerge) -> FieldValue? {
    switch policy {
    case .greatest: extreme(left, right, isGreatest: true)
    case .smallest: extreme(left, right, isGreatest: false)
    case .union: union(left, right)
    // These two are merged by the time of the edit, and by the parts of the devices.
    case .latest, .counter: left
    }
}

extension FieldMerge {
    /// Whether the policy does not let a value replace another one, because the value is less than the other (for
    /// `smallest`, greater), or lacks elements of it (`union`).
    func putsBack(_ value: FieldValue?, beside other: FieldValue?) -> Bool {
        switch self {
        case .latest, .counter: false
        case .greatest, .smallest, .union:
            other?.present != nil && !join(value, other, by: self).isSame(as: join(value, value, by: self))
        }
    }
}

/// The greatest or the smallest of two values. An absent value loses.
private func extreme(_ left: FieldValue?, _ right: FieldValue?, isGreatest: Bool) -> FieldValue? {
    guard let left = left?.present, let right = right?.present else { return left?.present ?? right?.present }
    let isLess = left.precedes(right)
    return isLess == isGreatest ? right : left
}

/// All elements of both lists, in the order of their encoding.
private func union(_ left: FieldValue?, _ right: FieldValue?) -> FieldValue? {
    guard let left = left?.present, let right = right?.present else { return left?.present ?? right?.present }
    guard let element = (left.type ?? right.type)?.known?.element else { return right }
    let all = ((left.elements ?? []) + (right.elements ?? [])).map(\.comparable)
    let unique = Dictionary(all.map { ($0.encoding, $0) }, uniquingKeysWith: { first, _ in first })
    return FieldValue.list(unique.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value), of: element)
}

/// The service's value, plus the amount that this device has added and that the value does not contain yet.
private func counter(_ theirs: FieldValue?, _ edit: PendingEdit, stored: Int64) -> FieldValue? {
    let (rest, _) = CounterParts.change(by: edit).subtractingReportingOverflow(stored)
    let (value, overflow) = (theirs?.int64Value ?? 0).addingReportingOverflow(rest)
    return .int64(overflow ? (rest > 0 ? .max : .min) : value)
}

extension MergeResult {
    fileprivate mutating func set(_ name: String, _ value: FieldValue?) {
        fields[name] = value?.present
    }
}

extension FieldValue {
    /// The value; `nil` for a null.
    var present: FieldValue? { isNull ? nil : self }

    /// The bytes of the value's JSON. All devices agree on their order.
    var encoding: [UInt8] { Checksum.bytes(of: self) }

    /// Whether this value is smaller than another of the same type. Values of a type without an order are compared by
    /// their encoding.
    fileprivate func precedes(_ other: FieldValue) -> Bool {
        switch (plain, other.plain) {
        case (.int64(let left), .int64(let right)): left < right
        case (.timestamp(let left), .timestamp(let right)): left < right
        case (.string(let left), .string(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
        case (.double(let left), .double(let right)): left < right
        case (let left, let right): left.encoding.lexicographicallyPrecedes(right.encoding)
        }
    }
}

extension FieldValue? {
    /// Whether both values are the same to the service. An absent value and a null are the same, and so are references
    /// that differ only in their zone.
    func isSame(as other: FieldValue?) -> Bool {
        switch (self?.present, other?.present) {
        case (nil, nil): true
        case (let left?, let right?): left == right || left.comparable == right.comparable
        default: false
        }
    }
}
