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

extension Duration {
    /// Whole milliseconds, as many as 64 bits have.
    package var milliseconds: Int64 {
        let (seconds, overflow) = components.seconds.multipliedReportingOverflow(by: 1000)
        guard !overflow else { return components.seconds > 0 ? .max / 4 : .min / 4 }
        return min(max(seconds, .min / 4), .max / 4) + components.attoseconds / 1_000_000_000_000_000
    }
}
