import Foundation
import Synchronization

/// Runs a program in the foreground of the terminal: it reads the keyboard, and Ctrl-C reaches it.
///
/// `Process` of Foundation puts a program into a process group of its own, and the terminal stops such a program when
/// it reads.
enum ForegroundProcess {
    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - arguments: The program, which is looked up in `PATH`, and its arguments.
    ///   - environment: Its environment.
    ///
    /// SIGTERM and SIGHUP of this process are sent on to the program.
    ///
    /// - Returns: The exit code; 128 plus the signal's number where a signal ended the program, as in shells.
    /// - Throws: A ``CommandError`` where it cannot be started.
    static func run(
        _ arguments: [String],
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws -> Int32 {
        // The handlers are there before the program: it may send a signal to this process at once.
        let program = Mutex<(process: pid_t?, early: [Int32])>((nil, []))
        let forwarding = [SIGTERM, SIGHUP].map { number in
            let handler = SignalHandler(number) {
                program.withLock { program in
                    if let process = program.process { kill(process, number) } else { program.early.append(number) }
                }
            }
            return (number: number, handler: handler)
        }
        defer { for (_, handler) in forwarding { handler.cancel() } }
        let handled = forwarding.filter(\.handler.isWaiting).map(\.number)
        let process = try start(arguments, environment, restoring: handled)
        program.withLock { program in
            program.process = process
            for number in program.early { kill(process, number) }
        }
        return await withCheckedContinuation { continuation in
            // A thread of its own, since the wait blocks it.
            Thread.detachNewThread { continuation.resume(returning: wait(for: process)) }
        }
    }

    /// Starts the program. The signals that this process handles have their usual effect in it.
    private static func start(
        _ arguments: [String],
        _ environment: [String: String],
        restoring signals: [Int32]
    ) throws(CommandError) -> pid_t {
        var process = pid_t()
        let words = arguments.map { strdup($0) }
        let settings = environment.map { strdup("\($0.key)=\($0.value)") }
        defer { for text in words + settings { free(text) } }
        #if canImport(Darwin)
            var attributes: posix_spawnattr_t?
        #else
            var attributes = posix_spawnattr_t()
        #endif
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The threads of this process block signals, and a program inherits that from the thread that starts it.
        // Libraries ignore SIGPIPE in this process.
        var (none, usual) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigemptyset(&usual)
        for number in signals + [SIGPIPE] { sigaddset(&usual, number) }
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let problem = posix_spawnp(&process, arguments[0], nil, &attributes, words + [nil], settings + [nil])
        guard problem == 0 else {
            throw CommandError(
                code: .usage,
                message: "\(arguments[0]) cannot be started: \(String(cString: strerror(problem))).",
                remedy: "Check the name of the program and PATH."
            )
        }
        return process
    }

    private static func wait(for process: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
}
