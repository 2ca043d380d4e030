import CloudKitEmulator
import FilePermissions
import Foundation

/// The folder of an emulator's data, which only its owner may read: it holds tokens and records.
enum DataFolder {
    /// Makes the folder where there is none, and takes the permissions of other users away from the files of the
    /// emulator in it.
    ///
    /// The folder itself gets the permissions 0700 if everything in it is the command's. A folder that holds other
    /// things as well, such as a project or the home folder, keeps its permissions: others may need them.
    ///
    /// - Throws: The error of the system.
    static func prepare(_ folder: String) throws {
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: OwnerPermissions.ofFolder
        )
        let names = try manager.contentsOfDirectory(atPath: folder)
        for name in names where isOwn(name) {
            let path = folder + "/" + name
            // What a link leads to is not the command's.
            let type = try? manager.attributesOfItem(atPath: path)[.type] as? FileAttributeType
            if type != .typeSymbolicLink { try OwnerPermissions.restrict(atPath: path) }
        }
        if names.allSatisfy(isOwn) { try OwnerPermissions.restrict(atPath: folder) }
    }

    /// Whether the command makes a file of this name in its data folder.
    static func isOwn(_ name: String) -> Bool {
        let numbered = ["session-", "completions-", "administration-"]
        let isNumbered = numbered.contains { name.hasPrefix($0) } && name.contains(".json")
        let own = ["emulator.sqlite", "emulator.in-use", "account.json", "config.json"]
        return isNumbered || own.contains { name.hasPrefix($0) }
    }
}
