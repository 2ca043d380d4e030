import Foundation

/// The file of an import. What comes from a pipe is copied into a temporary file, so that it can be read again.
struct ImportInput {
    /// The path of the file, or of the copy.
    let path: String
    /// The name in messages.
    let title: String
    let format: TransferFormat
    let handle: FileHandle
    private let isCopy: Bool

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - path: The file; `-` is standard input.
    ///   - format: The format; with `nil`, the name shows it, or the first character of what comes from a pipe.
    /// - Throws: ``CommandError`` for a file that cannot be read, a folder, or a copy that cannot be written.
    init(_ path: String, format: TransferFormat?) throws {
        let isStandardInput = path == "-"
        guard let source = isStandardInput ? .standardInput : FileHandle(forReadingAtPath: path) else {
            throw CommandError.unreadable(path)
        }
        if !isStandardInput, TransferLock.isRegular(source) {
            (self.path, title, handle, isCopy) = (path, path, source, false)
            self.format = format ?? TransferFormat(path: path)
            return
        }
        var isFolder: ObjCBool = false
        guard !FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) || !isFolder.boolValue else {
            throw CommandError(code: .data, message: "\(path) is a folder.", remedy: "Name a file of records.")
        }
        let title = isStandardInput ? "standard input" : path
        let first = try Self.read(source, title)
        self.format = format ?? Self.format(of: first)
        let copy = FileManager.default.temporaryDirectory
            .appendingPathComponent("mistkit-import-\(UUID().uuidString).\(self.format.rawValue)").path
        let own: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: copy, contents: first, attributes: own),
            let handle = FileHandle(forUpdatingAtPath: copy)
        else {
            throw CommandError(
                code: .cannotWrite,
                message: "\(title) cannot be copied into \(copy).",
                remedy: "Set TMPDIR to a folder that you can write to."
            )
        }
        do {
            try handle.seekToEnd()
            while case let data = try Self.read(source, title), !data.isEmpty { try handle.write(contentsOf: data) }
            try handle.seek(toOffset: 0)
        } catch {
            try? FileManager.default.removeItem(atPath: copy)
            if let error = error as? CommandError { throw error }
            throw CommandError.unwritable(copy, error)
        }
        (self.path, self.title, self.handle, isCopy) = (copy, title, handle, true)
    }

    /// Where lines that fail are written.
    var failedFile: String { isCopy ? "import.\(format.rawValue).failed" : path + ".failed" }

    /// Closes the file. The copy of a pipe is removed, unless an unfinished import can continue with it.
    func close() {
        try? handle.close()
        guard isCopy else { return }
        if FileManager.default.fileExists(atPath: TransferJournal.path(for: path)) {
            Terminal.writeHint("\(title) is in \(path): give this file with the same options to go on.")
        } else {
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    private static func read(_ source: FileHandle, _ title: String) throws(CommandError) -> Data {
        do {
            return try source.read(upToCount: 1 << 20) ?? Data()
        } catch {
            throw CommandError.unreadable(title)
        }
    }

    /// The format by the first character: an array, an object on each line, or the header of CSV.
    private static func format(of data: Data) -> TransferFormat {
        let text = data.starts(with: [0xEF, 0xBB, 0xBF]) ? data.dropFirst(3) : data
        switch text.first(where: { !" \t\r\n".utf8.contains($0) }) {
        case UInt8(ascii: "[")?: return .json
        case UInt8(ascii: "{")?, nil: return .ndjson
        default: return .csv
        }
    }
}
