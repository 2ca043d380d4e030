import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Keeps a token in a file that no other user can read.
///
/// ```swift
/// let storage = FileTokenStorage("/home/mei/.config/notes/session.json")
/// // {"webAuthToken":"..."}, mode 0600
/// ```
///
/// A new token is written to a temporary file in the same folder, which is then renamed. So the file always has a
/// complete token, even if the program or the machine stops, and another program that reads it gets the old or the new
/// token. A missing file means that there is no token. A file without a token is an error, and so is a file that other
/// users may read or write.
public struct FileTokenStorage: TokenStorage {
    /// The path of the file.
    public let path: String

    /// Makes a storage; nothing is read or written yet.
    ///
    /// - Parameter path: The path of the file. If the folder is missing, the first token makes it, with access only for
    ///   this user.
    public init(_ path: String) {
        self.path = path
    }

    /// Reads the file.
    ///
    /// - Returns: The token; `nil` where there is no file.
    /// - Throws: A ``CloudKitError`` of code ``CloudKitError/Code-swift.struct/tokenStorage`` that says what is wrong
    ///   with the file and what to do. It does not quote the content.
    @concurrent public func webAuthToken() async throws -> String? {
        guard let bytes = try PrivateFile(path).read() else { return nil }
        let kept: KeptToken
        do {
            kept = try JSONReader.read(KeptToken.self, from: bytes)
        } catch {
            let problem =
                bytes.isEmpty
                ? "is empty" : "holds no token: \(error.message)\(error.offset.map { " (byte \($0))" } ?? "")"
            throw CloudKitError.tokenStorage("The token file \(path) \(problem). Remove it and sign in again.")
        }
        return kept.webAuthToken
    }

    /// Writes the file, or removes it.
    ///
    /// - Parameter webAuthToken: The token; `nil` removes the file.
    /// - Throws: A ``CloudKitError`` of code ``CloudKitError/Code-swift.struct/tokenStorage`` that says which step
    ///   failed and why. The file is then unchanged.
    @concurrent public func store(webAuthToken: String?) async throws {
        let file = PrivateFile(path)
        guard let webAuthToken else { return try file.remove() }
        let bytes: [UInt8]
        do {
            bytes = try JSONWriter.bytes(of: KeptToken(webAuthToken: webAuthToken))
        } catch {
            throw CloudKitError.tokenStorage("The token cannot be written as JSON.")
        }
        try file.replace(with: bytes + [UInt8(ascii: "\n")])
    }
}

extension TokenStorage where Self == FileTokenStorage {
    /// A storage in a file that no other user can read.
    ///
    /// - Parameter path: The path of the file; see ``FileTokenStorage/init(_:)``.
    /// - Returns: The storage.
    public static func file(_ path: String) -> FileTokenStorage { FileTokenStorage(path) }
}

/// The content of the file.
private struct KeptToken: JSONReadable, JSONWritable {
    var webAuthToken: String

    private static let keys = JSONKeys("webAuthToken")

    init(webAuthToken: String) {
        self.webAuthToken = webAuthToken
    }

    init(json reader: inout JSONReader) throws(JSONError) {
        var token: String?
        try reader.beginObject()
        while let key = try reader.nextKey(in: Self.keys) {
            switch key {
            case 0: token = try reader.readString()
            default: try reader.skipValue()
            }
        }
        guard let token, !token.isEmpty else {
            throw reader.error(.missingKey, "webAuthToken is missing or empty")
        }
        webAuthToken = token
    }

    func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("webAuthToken")
        writer.write(webAuthToken)
        writer.endObject()
    }
}
