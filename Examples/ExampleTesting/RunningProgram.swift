import Foundation
import Synchronization

/// A running program, started as a user starts it, with an environment of its own.
///
/// Tasks that wait for it block no thread, so that servers of the test can respond to the program meanwhile.
public final class RunningProgram: Sendable {
    /// The result of a program that has ended.
    public struct Outcome: Sendable, Hashable {
        /// The exit code, or the number of the signal that ended the program.
        public var status: Int32
        /// What it wrote to standard output.
        public var output: String
        /// What it wrote to standard error.
        public var errors: String
    }

    private static let starts = Mutex(())

    private let events: ProgramEvents
    private let identifier: Int32

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: The executable.
    ///   - arguments: Its arguments.
    ///   - environment: Its environment.
    ///   - folder: Its working folder, or `nil` for the working folder of the test.
    /// - Throws: An error where the program cannot be started.
    public init(
        _ program: URL,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        in folder: URL? = nil
    ) throws {
        let events = ProgramEvents()
        // Two programs that start at the same moment would inherit each other's pipes, and the pipes would not close
        // when one of them ends.
        let (process, output, errors) = try RunningProgram.starts.withLock { _ in
            let (output, errors) = (Pipe(), Pipe())
            let process = try RunningProgram.start(program, arguments, environment, in: folder, output, errors)
            for pipe in [output, errors] { try pipe.fileHandleForWriting.close() }
            return (process, output, errors)
        }
        self.events = events
        identifier = process
        events.collect(output.fileHandleForReading) { $0.output.append($1) }
        events.collect(errors.fileHandleForReading) { $0.errors.append($1) }
        // `Process` of Foundation watches a program with `select`, which cannot handle more than 1,024 files: in a test
        // process with many sockets, it misses the end.
        Thread.detachNewThread {
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            let (signal, code) = (status & 0x7F, (status >> 8) & 0xFF)
            events.update { $0.status = signal == 0 ? code : signal }
        }
    }

    /// Starts a program with the pipes as its output.
    ///
    /// - Returns: The identifier of the process.
    private static func start(
        _ program: URL,
        _ arguments: [String],
        _ environment: [String: String],
        in folder: URL?,
        _ output: Pipe,
        _ errors: Pipe
    ) throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        for (pipe, target) in [(output, STDOUT_FILENO), (errors, STDERR_FILENO)] {
            posix_spawn_file_actions_adddup2(&actions, pipe.fileHandleForWriting.fileDescriptor, target)
            for handle in [pipe.fileHandleForWriting, pipe.fileHandleForReading] {
                posix_spawn_file_actions_addclose(&actions, handle.fileDescriptor)
            }
        }
        var command = [program.path] + arguments
        if let folder { command = ["/bin/sh", "-c", #"cd "$0" && exec "$@""#, folder.path] + command }
        let words = command.map { strdup($0) }
        let settings = environment.map { strdup("\($0.key)=\($0.value)") }
        defer { for text in words + settings { free(text) } }
        var process = pid_t()
        let problem = posix_spawn(&process, command[0], &actions, nil, words + [nil], settings + [nil])
        guard problem == 0 else { throw POSIXError(POSIXErrorCode(rawValue: problem) ?? .EIO) }
        return process
    }

    /// The executable of a product of this package. It is beside the test bundle.
    public static func built(_ name: String) -> URL {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: name)
    }

    /// Runs a program to its end.
    public static func run(
        _ program: URL,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        in folder: URL? = nil
    ) async throws -> Outcome {
        try await RunningProgram(program, arguments, environment: environment, in: folder).outcome()
    }

    /// Sends a signal.
    public func send(_ signal: Int32) { kill(identifier, signal) }

    /// Waits until standard output has a complete line.
    ///
    /// - Returns: The first line, or the whole output if the program ends without a line break.
    public func firstLine() async -> String {
        await events.first { state in
            let text = String(decoding: state.output, as: UTF8.self)
            return text.firstIndex(of: "\n").map { String(text[..<$0]) } ?? (state.isOver ? text : nil)
        }
    }

    /// Waits for the end of the program.
    public func outcome() async -> Outcome {
        await events.first { state in
            guard state.isOver, let status = state.status else { return nil }
            return Outcome(
                status: status,
                output: String(decoding: state.output, as: UTF8.self),
                errors: String(decoding: state.errors, as: UTF8.self)
            )
        }
    }
}

/// The output of a program so far, and the tasks that wait for more.
private final class ProgramEvents: Sendable {
    struct State {
        var output = Data()
        var errors = Data()
        var openPipes = 2
        var status: Int32?
        var waiting: [CheckedContinuation<Void, Never>] = []

        var isOver: Bool { openPipes == 0 && status != nil }
    }

    private let state = Mutex(State())

    /// Reads a pipe to its end, on a thread of its own.
    func collect(_ pipe: FileHandle, _ append: @escaping @Sendable (inout State, Data) -> Void) {
        Thread.detachNewThread { [self] in
            while case let data = pipe.availableData, !data.isEmpty { update { append(&$0, data) } }
            update { $0.openPipes -= 1 }
        }
    }

    func update(_ change: (inout State) -> Void) {
        let woken = state.withLock { state in
            change(&state)
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in woken { continuation.resume() }
    }

    /// Waits until `value` returns a value for the state.
    func first<Value>(_ value: (State) -> Value?) async -> Value {
        while true {
            var found: Value?
            await withCheckedContinuation { continuation in
                let isFound = state.withLock { state in
                    found = value(state)
                    if found == nil { state.waiting.append(continuation) }
                    return found != nil
                }
                if isFound { continuation.resume() }
            }
            if let found { return found }
        }
    }
}
