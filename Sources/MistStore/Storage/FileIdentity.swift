#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where a file is: by it a file knows that it was copied, or restored from a backup.
package struct FileIdentity: Hashable, Sendable {
    /// The machine's identifier, which outlives restarts: `/etc/machine-id`; empty where there is none.
    package var machine: String
    /// The number of the file system, and that of the file in it; empty where they are unknown.
    package var file: String
    /// The path, without symbolic links.
    package var path: String

    package init(machine: String, file: String, path: String) {
        (self.machine, self.file, self.path) = (machine, file, path)
    }

    /// The identity of a file that exists.
    init(ofFileAtPath path: String) {
        let manager = FileManager.default
        let identifier = manager.contents(atPath: "/etc/machine-id").map { String(decoding: $0, as: UTF8.self) }
        machine = String((identifier ?? "").filter { !$0.isWhitespace })
        let volume = (try? manager.attributesOfFileSystem(forPath: path))?[.systemNumber]
        let number = (try? manager.attributesOfItem(atPath: path))?[.systemFileNumber]
        file = number.map { "\(volume.map { "\($0)" } ?? "")/\($0)" } ?? ""
        self.path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    }

    /// Whether this is the file that had another identity earlier: a pure decision.
    ///
    /// A file that was moved, or that has two names, keeps its number; a copy has another one, and so has a backup that
    /// took the file's place. Where numbers are unknown, the path decides. The number of a file system may be another one
    /// after each start of the machine, so it alone does not tell a copy: a file of the same path and number is the same.
    func isSameFile(as earlier: FileIdentity) -> Bool {
        guard machine == earlier.machine else { return false }
        guard !file.isEmpty, !earlier.file.isEmpty else { return path == earlier.path }
        return file == earlier.file || (number == earlier.number && path == earlier.path)
    }

    /// The number of the file in its file system.
    private var number: Substring { file.split(separator: "/").last ?? "" }
}
