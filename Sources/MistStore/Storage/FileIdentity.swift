#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where a file is: by it a file knows that it was copied, or restored from a backup.
package struct FileIdentity: Hashable, Sendable {
    /// The machine's identifier, which outlives restarts: `/etc/machine-id`; empty where there is none.
    package var machine: String
    /// The number of the file system; empty where it is unknown.
    package var volume: String
    /// The number of the file in its file system; empty where it is unknown.
    package var number: String
    /// The path, without symbolic links.
    package var path: String

    package init(machine: String, volume: String, number: String, path: String) {
        (self.machine, self.volume, self.number, self.path) = (machine, volume, number, path)
    }

    /// The identity of a file that exists.
    init(ofFileAtPath path: String) {
        let manager = FileManager.default
        let identifier = manager.contents(atPath: "/etc/machine-id").map { String(decoding: $0, as: UTF8.self) }
        machine = String((identifier ?? "").filter { !$0.isWhitespace })
        func text(_ number: Any?) -> String { number.map { "\($0)" } ?? "" }
        volume = text((try? manager.attributesOfFileSystem(forPath: path))?[.systemNumber])
        number = text((try? manager.attributesOfItem(atPath: path))?[.systemFileNumber])
        self.path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    }

    /// Whether this is the file that had another identity earlier: a pure decision.
    ///
    /// A file that was moved, or that has two names, keeps its number; a copy has another one, and so has a backup that
    /// took the file's place. Where numbers are unknown, the path decides. The number of a file system may be another one
    /// after each start of the machine, so it alone does not tell a copy: a file of the same path and number is the same.
    func isSameFile(as earlier: FileIdentity) -> Bool {
        guard machine == earlier.machine else { return false }
        guard !number.isEmpty, !earlier.number.isEmpty else { return path == earlier.path }
        return number == earlier.number && (volume == earlier.volume || path == earlier.path)
    }
}
