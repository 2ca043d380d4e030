import CloudKitModel
public import CloudKitSchema
import MistKit

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Who edited each field of a record, and when: the field `mist_edits` of a record at the service.
///
/// A time belongs to a checksum of a field's name and value. A program that does not know `mist_edits` changes a field
/// and leaves `mist_edits` as it is. Then no checksum fits, and the field counts as edited at the time of that version
/// of the record. So the times depend on the service's record only, and all devices agree on them.
///
/// The bytes: the version (1); the number of edit times, and for each the device (8 bytes, little endian) and the
/// milliseconds since 1970 (variable length); the number of fields, and for each the checksum (4 bytes) and the number
/// of its time; the number of counter parts, and for each the checksum of the field's name, the device, its sequence
/// and its sum; the former zone of a record that was moved.
struct EditTimes: Hashable, Sendable {
    /// The name of the field.
    static let fieldName = "mist_edits"

    /// The edit times, by the checksum of a field's name and value.
    var times: [UInt32: EditTime] = [:]
    /// The sums that each device has added to counters.
    var parts: [Part] = []
    /// The zone that the record was in before it was moved.
    var movedFrom: String?

    /// The sum of everything that a device has added to a counter.
    struct Part: Hashable, Sendable {
        /// The checksum of the field's name.
        var field: UInt32
        var device: Int64
        /// When the device wrote the part, in milliseconds since 1970 by the service's clock; a later number where other
        /// parts are later. Of two parts of a device, the one with the larger number counts.
        var sequence: Int64
        var sum: Int64
    }

    init() {}

    /// When a field was edited; `nil` where no device has noted a time for this value.
    func time(of name: String, _ value: FieldValue?) -> EditTime? {
        times[Checksum.of(name, value)]
    }

    /// When and on which device the record was created. It is stored as the time of a field without a name.
    var creation: EditTime? {
        get { time(of: "", nil) }
        set { times[Checksum.of("", nil)] = newValue }
    }

    /// When and on which device the record was moved; `nil` for a record that is where it was created. It is stored as
    /// the time of a field without a name, whose value is the former zone.
    var move: EditTime? { movedFrom.flatMap { time(of: "", .string($0)) } }

    /// Whether the record was never moved, or earlier than another move.
    func isMoved(before other: EditTime) -> Bool { move.map { $0 < other } ?? true }

    /// Notes a move.
    mutating func setMove(_ time: EditTime, from zone: String) {
        if let movedFrom { times[Checksum.of("", .string(movedFrom))] = nil }
        movedFrom = zone
        set(time, of: "", .string(zone))
    }

    mutating func set(_ time: EditTime, of name: String, _ value: FieldValue?) {
        times[Checksum.of(name, value)] = time
    }

    /// The sum that a device has added to a counter.
    func part(of name: String, device: Int64) -> Part? {
        let field = Checksum.of(name: name)
        return parts.first { $0.field == field && $0.device == device }
    }

    mutating func set(_ part: Part) {
        parts.removeAll { $0.field == part.field && $0.device == part.device }
        parts.append(part)
    }

    /// The times with parts that a row contains beside those of its version, as far as they are later.
    func adding(_ others: [Part]) -> EditTimes {
        others.reduce(into: self) { times, part in
            let before = times.parts.first { $0.field == part.field && $0.device == part.device }
            if part.sequence > before?.sequence ?? .min { times.set(part) }
        }
    }
}

// MARK: - Bytes

extension EditTimes {
    /// Reads the bytes of `mist_edits`.
    ///
    /// - Returns: The times; `nil` where the bytes are damaged or of a later version. Then the time of the record's
    ///   version counts.
    init?(_ bytes: some Collection<UInt8>) {
        var reader = ByteReader(bytes)
        guard reader.byte() == 1, let count = reader.count() else { return nil }
        var all: [EditTime] = []
        for _ in 0..<count {
            guard let device = reader.fixed(Int64.self), let milliseconds = reader.number() else { return nil }
            all.append(EditTime(milliseconds: milliseconds, device: device))
        }
        guard let fields = reader.count() else { return nil }
        for _ in 0..<fields {
            guard let checksum = reader.fixed(UInt32.self), let index = reader.number(),
                let position = Int(exactly: index), all.indices.contains(position)
            else { return nil }
            times[checksum] = all[position]
        }
        guard let partCount = reader.count() else { return nil }
        for _ in 0..<partCount {
            guard let field = reader.fixed(UInt32.self), let device = reader.fixed(Int64.self),
                let sequence = reader.number(), let sum = reader.number()
            else { return nil }
            parts.append(Part(field: field, device: device, sequence: sequence, sum: sum))
        }
        guard let zone = reader.text() else { return nil }
        movedFrom = zone.isEmpty ? nil : zone
    }

    /// The bytes of `mist_edits`; equal values have equal bytes.
    var bytes: [UInt8] {
        let all = Set(times.values).sorted()
        let positions = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1, Int64($0)) })
        var bytes: [UInt8] = [1]
        bytes.append(number: Int64(all.count))
        for time in all {
            bytes.append(fixed: time.device)
            bytes.append(number: time.milliseconds)
        }
        bytes.append(number: Int64(times.count))
        for (checksum, time) in times.sorted(by: { $0.key < $1.key }) {
            bytes.append(fixed: checksum)
            bytes.append(number: positions[time] ?? 0)
        }
        bytes.append(number: Int64(parts.count))
        for part in parts.sorted(by: { ($0.field, $0.device) < ($1.field, $1.device) }) {
            bytes.append(fixed: part.field)
            bytes.append(fixed: part.device)
            bytes.append(number: part.sequence)
            bytes.append(number: part.sum)
        }
        let zone = Array((movedFrom ?? "").utf8)
        bytes.append(number: Int64(zone.count))
        return bytes + zone
    }
}

extension [UInt8] {
    fileprivate mutating func append(fixed value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }

    /// Appends a number with seven bits in each byte. The sign is the lowest bit.
    fileprivate mutating func append(number value: Int64) {
        var rest = UInt64(bitPattern: (value << 1) ^ (value >> 63))
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }
}

private struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: some Collection<UInt8>) {
        rest = Array(bytes)[...]
    }

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func fixed<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
        let size = MemoryLayout<Value>.size
        guard rest.count >= size else { return nil }
        var value: Value = 0
        for (index, byte) in rest.prefix(size).enumerated() { value |= Value(truncatingIfNeeded: byte) << (8 * index) }
        rest = rest.dropFirst(size)
        return value
    }

    mutating func number() -> Int64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while let byte = byte() {
            guard shift < 64 else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return Int64(bitPattern: (value >> 1) ^ (~(value & 1) &+ 1)) }
            shift += 7
        }
        return nil
    }

    /// The number of the following elements. Each takes at least a byte, so a larger number than the remaining bytes is
    /// damage.
    mutating func count() -> Int? {
        guard let number = number(), let count = Int(exactly: number), 0...rest.count ~= count else { return nil }
        return count
    }

    mutating func text() -> String? {
        guard let count = count() else { return nil }
        defer { rest = rest.dropFirst(count) }
        return String(validating: rest.prefix(count), as: UTF8.self)
    }
}

extension Record {
    /// The bytes of the edit times; `nil` for a record that a program without a store has created.
    var editTimesBytes: Data? {
        guard case .bytes(let data)? = fields[EditTimes.fieldName]?.plain else { return nil }
        return data
    }
}

extension ContainerSchema {
    /// Adds the field `mist_edits` to each record type. In this field a store keeps the edit times of a record's
    /// fields.
    ///
    /// ```swift
    /// var schema = try ContainerSchema(of: TodoList.self, Todo.self)
    /// schema.addStoreFields()
    /// // RECORD TYPE Todo (
    /// //     …
    /// //     mist_edits BYTES,
    /// ```
    ///
    /// The production environment refuses the records of a store if their type does not have the field; see
    /// `StoreConfiguration.setEditTimes(_:of:)` for an alternative.
    public mutating func addStoreFields() {
        for index in recordTypes.indices where recordTypes[index][field: EditTimes.fieldName] == nil {
            recordTypes[index].fields.append(Field(name: EditTimes.fieldName, type: .bytes))
        }
    }
}
