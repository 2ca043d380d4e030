import Foundation

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The time and the memory that a process used.
struct Usage {
    /// Seconds of wall-clock time.
    var elapsed: Double
    /// Processor seconds, of the program and of the system on its behalf.
    var processor: Double
    /// The peak of its memory.
    var peakBytes: Int

    /// Runs a program to its end, without its output.
    static func ofRunning(_ program: URL, _ arguments: [String]) throws -> Usage {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
        }
        var words: [UnsafeMutablePointer<CChar>?] = ([program.path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var environment: [UnsafeMutablePointer<CChar>?] = [nil]
        let start = ContinuousClock.now
        var process: pid_t = 0
        let failure = posix_spawn(&process, program.path, &actions, nil, &words, &environment)
        guard failure == 0 else { throw RunError(program: program.path, status: failure) }
        var status: Int32 = 0
        var usage = rusage()
        while wait4(process, &status, 0, &usage) < 0, errno == EINTR {}
        guard status == 0 else { throw RunError(program: program.path, status: status) }
        let elapsed = (ContinuousClock.now - start).components
        #if canImport(Darwin)
            let peakBytes = Int(usage.ru_maxrss)
        #else
            let peakBytes = Int(usage.ru_maxrss) * 1024
        #endif
        return Usage(
            elapsed: Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18,
            processor: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            peakBytes: peakBytes
        )
    }

    /// The median of each figure.
    static func median(of usages: [Usage]) -> Usage {
        func middle<Value: Comparable>(_ figure: (Usage) -> Value) -> Value {
            usages.map(figure).sorted()[usages.count / 2]
        }
        return Usage(elapsed: middle(\.elapsed), processor: middle(\.processor), peakBytes: middle(\.peakBytes))
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }
}

/// A program that could not be started, or that ended with an error.
struct RunError: Error, CustomStringConvertible {
    var program: String
    var status: Int32

    var description: String { "\(program) ended with status \(status)." }
}
