import Foundation

/// The progress of a long transfer: a line that changes on a terminal, a line every ten seconds elsewhere.
struct TransferProgressLine {
    /// The verb in the past, such as "exported".
    let verb: String
    /// The number of bytes in all, where it is known.
    let totalBytes: Int64?
    /// The records that earlier runs did.
    let earlierRecords: Int
    let earlierBytes: Int64
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let began = ContinuousClock.now
    private var shown: ContinuousClock.Instant?

    init(_ verb: String, totalBytes: Int64? = nil, earlierRecords: Int = 0, earlierBytes: Int64 = 0) {
        self.verb = verb
        self.totalBytes = totalBytes
        self.earlierRecords = earlierRecords
        self.earlierBytes = earlierBytes
    }

    /// Says at Ctrl-C that the transfer can be continued, and ends the process.
    static func handleInterrupt() -> SignalHandler {
        SignalHandler(SIGINT) {
            Terminal.writeError("\nStopped. The same command continues here.")
            exit(128 + SIGINT)
        }
    }

    /// Shows how far the transfer has come, at most five times a second on a terminal.
    mutating func show(records: Int, bytes: Int64) {
        let now = ContinuousClock.now
        let interval: Duration = isTerminal ? .milliseconds(200) : .seconds(10)
        guard now - (shown ?? (isTerminal ? now - interval : began)) >= interval else { return }
        shown = now
        let seconds = (now - began) / .seconds(1)
        let text = Self.text(
            verb,
            records: records,
            bytes: bytes,
            totalBytes: totalBytes,
            recordRate: Double(records - earlierRecords) / max(seconds, 0.001),
            byteRate: Double(bytes - earlierBytes) / max(seconds, 0.001)
        )
        if isTerminal {
            Terminal.writeError("\r\u{1B}[K\(text)", terminator: "")
        } else {
            Terminal.writeError(text)
        }
    }

    /// Ends the line, and prints the totals.
    func finish(records: Int, failures: Int, to destination: String) {
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        let rate = Double(records - earlierRecords) / max(seconds, 0.001)
        var text = "\(String.counting(records, "record")) \(verb)\(destination)"
        if failures > 0 { text += ", \(failures) failed" }
        if earlierRecords > 0 { text += ", \(earlierRecords) of them by an earlier run" }
        text += " (\(Self.duration(seconds)), \(Int(rate)) a second)"
        Terminal.writeError((isTerminal ? "\r\u{1B}[K" : "") + text)
    }

    /// `12000 records exported, 3.4 MB, 8000 a second, 45 %, 12 s left`
    static func text(
        _ verb: String,
        records: Int,
        bytes: Int64,
        totalBytes: Int64?,
        recordRate: Double,
        byteRate: Double
    ) -> String {
        var parts = ["\(String.counting(records, "record")) \(verb)", size(bytes), "\(Int(recordRate)) a second"]
        if let totalBytes, totalBytes > 0 {
            parts.append("\(min(100, bytes * 100 / totalBytes)) %")
            if byteRate > 0 { parts.append("\(duration(Double(max(0, totalBytes - bytes)) / byteRate)) left") }
        }
        return parts.joined(separator: ", ")
    }

    private static func size(_ bytes: Int64) -> String {
        switch bytes {
        case ..<10_000: "\(bytes) bytes"
        case ..<10_000_000: "\(bytes / 1000) kB"
        default: "\(bytes / 1_000_000) MB"
        }
    }

    private static func duration(_ seconds: Double) -> String {
        let seconds = Int(seconds.rounded())
        return seconds < 60 ? "\(seconds) s" : "\(seconds / 60) min \(seconds % 60) s"
    }
}
