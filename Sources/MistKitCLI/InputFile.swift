import Foundation

/// A file that a command reads whole; `-` is standard input.
struct InputFile {
    let path: String

    var isStandardInput: Bool { path == "-" }

    /// The name of the file in messages.
    var title: String { isStandardInput ? "standard input" : path }

    /// Reads the file.
    ///
    /// - Throws: A ``CommandError`` where there is no such file, or it cannot be read.
    func bytes() throws(CommandError) -> [UInt8] {
        let data =
            isStandardInput
            ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: path)
        guard let data else { throw .unreadable(path) }
        return [UInt8](data)
    }
}
