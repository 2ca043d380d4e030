import Foundation

/// A measured operation: its name, and the code that runs it once.
struct Contender {
    var name: String
    var run: () async throws -> Int
}

/// Runs contenders in turns, so that a busy moment of the machine hits all of them, and gives the median seconds of
/// each.
///
/// Seconds are those of the processor: what other programs take from a shared machine does not count. They are the
/// seconds of the whole process, so that work on other threads counts too.
func medians(of contenders: [Contender], rounds: Int) async throws -> [Double] {
    var times = [[Double]](repeating: [], count: contenders.count)
    // How often each must run to last long enough for the clock.
    var repeats: [Int] = []
    for contender in contenders {
        _ = try await seconds(contender, times: 3)
        let once = try await seconds(contender, times: 1)
        repeats.append(max(1, Int(0.005 / max(once, 1e-6))))
    }
    for _ in 0..<rounds {
        for (index, contender) in contenders.enumerated() {
            times[index].append(try await seconds(contender, times: repeats[index]) / Double(repeats[index]))
        }
    }
    return times.map { $0.sorted()[$0.count / 2] }
}

private func seconds(_ contender: Contender, times: Int) async throws -> Double {
    var sum = 0
    let start = processorTime()
    for _ in 0..<times {
        sum &+= try await contender.run()
    }
    let end = processorTime()
    guard sum != .min else { return 0 }
    return end - start
}

private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Seconds for reading and writing `file` with orjson, measured inside of Python; `nil` where it cannot be imported.
func orjsonSeconds(file: URL) -> (read: Double, write: Double)? {
    let program = """
        import statistics, sys, time
        import orjson
        data = open(sys.argv[1], 'rb').read()
        def median(f):
            times = []
            for _ in range(60):
                start = time.process_time()
                f()
                times.append(time.process_time() - start)
            return statistics.median(times)
        value = orjson.loads(data)
        print(median(lambda: orjson.loads(data)), median(lambda: orjson.dumps(value)))
        """
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "-c", program, file.path]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let numbers = String(decoding: data, as: UTF8.self).split(separator: " ").compactMap {
        Double($0.trimmingCharacters(in: .whitespacesAndNewlines))
    }
    return process.terminationStatus == 0 && numbers.count == 2 ? (numbers[0], numbers[1]) : nil
}
