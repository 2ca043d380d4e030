import Foundation

/// A line of the table: a figure of the store beside its baseline, and whether the budget is met.
struct Finding {
    var what: String
    /// The figure of the store, and that of the baseline where there is one.
    var store: String
    var baseline = "-"
    var figure: String
    var budget: String
    /// `nil` for a figure without a budget.
    var isMet: Bool?

    /// A line whose figure is the median of the rounds' ratios.
    init(
        _ what: String,
        store: String,
        baseline: String,
        ratios: [Double],
        atMost: Double? = nil,
        atLeast: Double? = nil
    ) {
        let ratio = median(ratios)
        self.what = what
        self.store = store
        self.baseline = baseline
        figure = "\(decimals(ratio))x"
        if let first = ratios.min(), let last = ratios.max(), ratios.count > 1 {
            figure += " (\(decimals(first)) to \(decimals(last)))"
        }
        budget = atMost.map { "at most \(decimals($0))x" } ?? atLeast.map { "at least \(decimals($0))x" } ?? "-"
        isMet = atMost.map { ratio <= $0 } ?? atLeast.map { ratio >= $0 }
    }

    /// A line whose figure is not a ratio.
    init(_ what: String, figure: String, budget: String = "-", isMet: Bool? = nil) {
        self.what = what
        store = figure
        self.figure = figure
        self.budget = budget
        self.isMet = isMet
    }

    /// The line as the table has it.
    var line: String {
        let verdict = isMet.map { $0 ? "met" : "missed" } ?? "-"
        return "| \([what, store, baseline, figure, budget, verdict].joined(separator: " | ")) |"
    }

    static let header = """
        | what | store | baseline | figure | budget | verdict |
        | --- | --- | --- | --- | --- | --- |
        """
}

func median(_ numbers: [Double]) -> Double {
    numbers.isEmpty ? .nan : numbers.sorted()[numbers.count / 2]
}

/// The smallest number that `share` of all numbers do not exceed.
func percentile(_ share: Double, of numbers: [Double]) -> Double {
    guard !numbers.isEmpty else { return .nan }
    return numbers.sorted()[min(numbers.count - 1, Int((share * Double(numbers.count)).rounded(.up)) - 1)]
}

func decimals(_ number: Double, _ count: Int = 2) -> String { String(format: "%.\(count)f", number) }

/// The processor seconds of this process, on all processors. The work of other programs on a shared machine does not
/// count.
func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The peak of this process's resident memory, in bytes: `VmHWM`.
func peakMemory() -> Int {
    var usage = rusage()
    #if canImport(Darwin)
        getrusage(RUSAGE_SELF, &usage)
        return Int(usage.ru_maxrss)
    #else
        // Unlike `ru_maxrss`, this figure does not include the memory of the program that started this one.
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        if let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) { return kilobytes << 10 }
        getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
        return Int(usage.ru_maxrss) << 10
    #endif
}

struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
