import ArgumentParser

/// A length of time as users write it: `90s`, `30m`, `2h`, `7d`.
package struct TimeSpan: ExpressibleByArgument, Hashable, CustomStringConvertible {
    package var seconds: Double

    package init(seconds: Double) {
        self.seconds = seconds
    }

    package init?(argument: String) {
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let unit = argument.last.flatMap({ units[$0] }), let number = Int(argument.dropLast()),
            (0...1_000_000).contains(number)
        else { return nil }
        seconds = Double(number) * unit
    }

    package var defaultValueDescription: String { description }

    package var description: String {
        let units: [(name: String, length: Double)] = [("d", 86_400), ("h", 3600), ("m", 60)]
        for unit in units where seconds >= unit.length && seconds.truncatingRemainder(dividingBy: unit.length) == 0 {
            return "\(Int(seconds / unit.length))\(unit.name)"
        }
        return "\(Int(seconds))s"
    }
}
