import GRDB

/// A time by the clock of this machine, in milliseconds since 1970.
package struct MachineTime: TypedNumber {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    package static func + (time: MachineTime, milliseconds: Int64) -> MachineTime {
        MachineTime(time.rawValue + milliseconds)
    }

    package static func - (time: MachineTime, milliseconds: Int64) -> MachineTime {
        MachineTime(time.rawValue - milliseconds)
    }

    /// The milliseconds between two times.
    package static func - (later: MachineTime, earlier: MachineTime) -> Int64 { later.rawValue - earlier.rawValue }
}
