import Foundation

/// The output of the demos: a line for each step, with its time.
enum Demo {
    /// The result of `work`, and the seconds that it took.
    static func timed<Value>(_ work: () async throws -> Value) async rethrows -> (Value, Double) {
        let clock = ContinuousClock()
        let began = clock.now
        let value = try await work()
        return (value, seconds(clock.now - began))
    }

    private static let english = Locale(identifier: "en_US")

    static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
    }

    static func milliseconds(_ seconds: Double) -> String {
        let style = FloatingPointFormatStyle<Double>(locale: english).precision(.fractionLength(seconds < 0.1 ? 1 : 0))
        return (seconds * 1000).formatted(style) + " ms"
    }

    static func tell(_ step: String, _ text: String, _ seconds: Double? = nil, _ items: Int? = nil) {
        var line = "  " + step.padding(toLength: 10, withPad: " ", startingAt: 0) + text
        if let seconds {
            var figures = milliseconds(seconds)
            if let items, seconds > 0 {
                let rate = Int(Double(items) / seconds).formatted(IntegerFormatStyle<Int>(locale: english))
                figures += ", \(rate) a second"
            }
            line += "  (\(figures))"
        }
        Terminal.writeLine(line)
    }
}
