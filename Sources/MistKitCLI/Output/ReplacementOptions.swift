import ArgumentParser
import Foundation

/// Whether a command that writes a file may replace one that exists.
struct ReplacementOptions: ParsableArguments {
    @Flag(help: "Replace the file where it exists.")
    var force = false

    /// Checks that a file may be written, before the command does anything else.
    ///
    /// Devices and pipes, such as `/dev/stdout`, are not replaced by writing to them.
    ///
    /// - Parameter path: The file.
    /// - Throws: ``CommandError`` for a folder, and for a file that exists and is not to be replaced.
    func check(_ path: String) throws(CommandError) {
        var status = stat()
        guard stat(path, &status) == 0 else { return }
        switch status.st_mode & S_IFMT {
        case S_IFDIR:
            throw CommandError(
                code: .usage,
                message: "\(path) is a folder.",
                remedy: "Name a file."
            )
        case S_IFREG where !force:
            throw CommandError(
                code: .usage,
                message: "\(path) exists already.",
                remedy: "Name another file, or replace it with --force."
            )
        default: break
        }
    }
}
