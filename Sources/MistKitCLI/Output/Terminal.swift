import Foundation

/// Standard output and standard error of the process.
///
/// Output goes through here so that a closed pipe ends the command quietly and a table knows how wide it may be.
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

    static func write(_ text: String) {
        FileHandle.standardOutput.writeQuietly(Data(text.utf8))
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
        let lines = table.lines(width: width, in: style)
        if let pager, let height, lines.count >= height, pager.show(lines.joined(separator: "\n") + "\n") { return }
        for line in lines { writeLine(line) }
    }

    static func writeError(_ text: String, terminator: String = "\n") {
        FileHandle.standardError.writeQuietly(Data((text + terminator).utf8))
    }

    /// Writes an error that ends the command: what is wrong, and what to do.
    static func writeError(_ error: CommandError) {
        writeError(error.text(in: errorStyle))
    }

    /// Writes what is wrong with one item of several. The command goes on.
    ///
    /// - Parameters:
    ///   - error: The error of the item.
    ///   - place: Where the item stands, such as a file and a line.
    static func writeFailure(_ error: CommandError, at place: String? = nil) {
        writeError("mistkit: \(place.map { "\($0): " } ?? "")\(error.statement(in: errorStyle))")
    }

    /// Writes a hint on standard error, where there is one. The command goes on.
    static func writeHint(_ text: String?) {
        if let text { writeError("mistkit: note: \(text)") }
    }
}

extension FileHandle {
    /// A reader that stops early (`mistkit records query | head`) is not an error.
    fileprivate func writeQuietly(_ data: Data) {
        try? write(contentsOf: data)
    }
}
