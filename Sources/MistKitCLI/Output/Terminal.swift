import Foundation
import Synchronization

/// Standard output and standard error of the process.
///
/// Output goes through here so that a closed pipe is no failure, a full disk is one, and a table knows how wide it may be.
struct Terminal: Sendable {
    /// Whether people see standard output as it is written, rather than a file or another program.
    static var isInteractive: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The columns of the terminal; nil where standard output is not a terminal.
    static var width: Int? { isInteractive ? size.map { Int($0.ws_col) } ?? 80 : nil }

    /// The lines of the terminal; nil where standard output is not a terminal, or the height is not known.
    static var height: Int? { isInteractive ? size.flatMap { $0.ws_row > 0 ? Int($0.ws_row) : nil } : nil }

    /// How tables are set off on standard output.
    private static var style: TextStyle {
        TextStyle(isTerminal: isInteractive, environment: ProcessInfo.processInfo.environment)
    }

    /// How the details of errors are set off on standard error.
    private static var errorStyle: TextStyle {
        TextStyle(isTerminal: isatty(STDERR_FILENO) == 1, environment: ProcessInfo.processInfo.environment)
    }

    private static var size: winsize? {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return size
    }

    /// Writes to standard output. Where that fails, the process ends with an error.
    ///
    /// A reader that stops early, as in `mistkit records query Note | head`, is not an error.
    static func write(_ text: String) {
        guard !isOutputClosed else { return }
        switch write(text, to: STDOUT_FILENO) {
        case 0: break
        case EPIPE: outputIsClosed.store(true, ordering: .relaxed)
        case let problem:
            let error = CommandError(
                code: .cannotWrite,
                message: "Standard output cannot be written: \(String(cString: strerror(problem))).",
                remedy: "Check the file or the program that it goes to. The output is not complete."
            )
            writeError(error)
            exit(error.code.rawValue)
        }
    }

    private static let outputIsClosed = Atomic(false)

    /// Whether the reader of standard output has stopped.
    static var isOutputClosed: Bool { outputIsClosed.load(ordering: .relaxed) }

    /// Writes a text.
    ///
    /// - Returns: The number of the error; 0 on success.
    private static func write(_ text: String, to descriptor: Int32) -> Int32 {
        var text = text
        return text.withUTF8 { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = UnsafeBufferPointer(rebasing: rest)
                let count = Foundation.write(descriptor, part.baseAddress, part.count)
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    var descriptors = [pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)]
                    poll(&descriptors, 1, -1)
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
    }

    static func writeLine(_ text: String = "") {
        write(text + "\n")
    }

    /// Writes a table, as wide as the terminal allows.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - pager: The pager for a table that is higher than the terminal; `nil` to write it in one go.
    static func write(_ table: TextTable, pager: Pager?) {
        if let pager, let height, table.height >= height {
            let lines = table.lines(width: width, in: pager.showsStyles ? style : .plain)
            if pager.show(lines.joined(separator: "\n") + "\n") { return }
        }
        for line in table.lines(width: width, in: style) { writeLine(line) }
    }

    static func writeError(_ text: String, terminator: String = "\n") {
        _ = write(text + terminator, to: STDERR_FILENO)
    }

    /// Writes an error that ends the command: what is wrong, and what to do.
    static func writeError(_ error: CommandError) {
        writeError(error.text(in: errorStyle))
    }

    /// Writes what is wrong with one item of several. The command goes on.
    ///
    /// - Parameters:
    ///   - error: The error of the item.
    ///   - position: Where the item is, such as a file and a line.
    static func writeFailure(_ error: CommandError, at position: String? = nil) {
        writeError("mistkit: \(position.map { "\($0): " } ?? "")\(error.statement(in: errorStyle))")
    }

    /// Writes a hint on standard error, where there is one. The command goes on.
    static func writeHint(_ text: String?) {
        if let text { writeError("mistkit: note: \(text)") }
    }
}
