#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A file of private records in the folder of a store.
enum UserFile: Hashable, Sendable {
    /// The file of the first user who was signed in, and of no one before that.
    case first
    /// The file of a further user.
    case user(String)
    /// The records that are made while no one is signed in, where the first file belongs to a user.
    case signedOut

    /// The kind of a file, as the table has it.
    enum Kind: String {
        case first, user, signedOut
    }

    /// A file by its row; `nil` for none, or for one that only a later version knows.
    init?(kind: String?, user: String?) {
        switch kind.flatMap(Kind.init) {
        case .first: self = .first
        case .user:
            guard let user else { return nil }
            self = .user(user)
        case .signedOut: self = .signedOut
        case nil: return nil
        }
    }

    var kind: Kind {
        switch self {
        case .first: .first
        case .user: .user
        case .signedOut: .signedOut
        }
    }

    /// The user by whom the file is named.
    var user: String? {
        if case .user(let name) = self { name } else { nil }
    }

    /// The file of a further user by its path in the folder ``folder``; `nil` for the path of another file.
    init?(pathInUsers path: String) {
        guard path.hasSuffix(".sqlite") else { return nil }
        var bytes: [UInt8] = []
        var rest = Array(path.dropLast(".sqlite".count).replacing("/", with: "").utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "=") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        let user = UserFile.user(String(decoding: bytes, as: UTF8.self))
        guard user.path == "\(Self.folder)/\(path)" else { return nil }
        self = user
    }

    /// The folder of the files of further users.
    static let folder = "users"

    /// The path in the folder.
    var path: String {
        switch self {
        case .first: "user.sqlite"
        case .user(let name): "\(Self.folder)/\(Self.encoded(name)).sqlite"
        case .signedOut: "signed-out.sqlite"
        }
    }

    /// The files that a folder has. One that is being removed is not among them.
    static func present(in folder: URL) -> [UserFile] {
        let users = folder.appendingPathComponent(Self.folder).path
        // A long name is a path of several components.
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: users)) ?? []
        let files = [.first, .signedOut] + paths.sorted().compactMap { UserFile(pathInUsers: $0) }
        return files.filter { file in
            let path = folder.appendingPathComponent(file.path).path
            return StoreFile.hasContent(atPath: path) && !StoreFile.isWithdrawn(atPath: path)
        }
    }

    /// A user record name as a path: different for different names, also where a file system ignores case, and without
    /// a way out of the folder.
    ///
    /// Small letters, digits, `_` and `-` stay. Every other byte is `=` with two hexadecimal digits. A component has at
    /// most 200 characters, because file systems allow 255.
    static func encoded(_ name: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var bytes: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
                UInt8(ascii: "-"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "="), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return stride(from: 0, to: bytes.count, by: 200)
            .map { String(decoding: bytes[$0..<min($0 + 200, bytes.count)], as: UTF8.self) }
            .joined(separator: "/")
    }
}
