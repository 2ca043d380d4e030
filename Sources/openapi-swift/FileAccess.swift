import Foundation
import OpenAPISwiftGenerator

/// Reads and writes the files of a run, and says in a sentence why it cannot.
enum FileAccess {
    /// The path that means standard input.
    static let standardInput = "-"

    /// The bytes of a file that the command line names.
    static func contents(of path: String, what: String) throws(Diagnostic) -> [UInt8] {
        do {
            return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            throw Diagnostic(
                severity: .error,
                message: "Cannot read the \(what) at '\(path)': \(reason(for: error, at: path)).",
                remedy: "check the path, which is relative to the current folder"
            )
        }
    }

    /// The bytes of the document that the command line names.
    static func document(at path: String) throws(Diagnostic) -> [UInt8] {
        guard path == standardInput else { return try contents(of: path, what: "OpenAPI document") }
        do {
            return [UInt8](try FileHandle.standardInput.readToEnd() ?? Data())
        } catch {
            throw Diagnostic(
                severity: .error,
                message: "Cannot read the OpenAPI document from standard input: \(reason(for: error, at: path))."
            )
        }
    }

    /// The name of a document in diagnostics.
    static func name(ofDocument path: String) -> String {
        path == standardInput ? "<stdin>" : path
    }

    /// Runs a closure that writes a file or a folder.
    static func writing<T>(_ path: String, _ body: () throws -> T) throws(Diagnostic) -> T {
        do {
            return try body()
        } catch {
            throw Diagnostic(
                severity: .error,
                message: "Cannot write '\(path)': \(reason(for: error, at: path)).",
                remedy: "choose a folder that can be written to"
            )
        }
    }

    /// Why the system refused to read or write a file: the end of a sentence.
    private static func reason(for error: any Error, at path: String) -> String {
        var isFolder: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        var error: any Error = error
        while let cocoa = error as? CocoaError, let underlying = cocoa.underlying { error = underlying }
        if let posix = error as? POSIXError { return text(of: posix.code) }
        if let cocoa = error as? CocoaError {
            switch cocoa.code {
            case .fileReadNoSuchFile, .fileNoSuchFile: return "there is no such file"
            case .fileReadNoPermission: return "reading it is not permitted"
            case .fileWriteNoPermission: return "writing it is not permitted"
            case .fileWriteOutOfSpace: return "the disk is full"
            case .fileWriteFileExists: return "a file has the name of the folder"
            case .fileWriteVolumeReadOnly: return "the disk is read-only"
            default: break
            }
        }
        if exists, isFolder.boolValue { return "it is a folder" }
        return exists ? "the system refuses it" : "there is no such file, or a part of its path is not a folder"
    }

    private static func text(of code: POSIXError.Code) -> String {
        switch code {
        case .ENOENT: "there is no such file"
        case .EACCES, .EPERM: "it is not permitted"
        case .EISDIR: "it is a folder"
        case .ENOTDIR: "a part of its path is not a folder"
        case .EEXIST: "a file has the name of the folder"
        case .ENOSPC: "the disk is full"
        case .EROFS: "the disk is read-only"
        case .ELOOP: "its symbolic links lead in a circle"
        case .ENAMETOOLONG: "its name is too long"
        default: "the system refuses it (\(code.rawValue))"
        }
    }
}

extension CocoaError {
    fileprivate var underlying: (any Error)? { userInfo[NSUnderlyingErrorKey] as? any Error }
}

/// Reads the files that a document refers to, and no others.
///
/// References and symbolic links may lead anywhere below the folder of the document, or of the package where a plugin
/// runs the tool. A document that was downloaded must not bring other files of the machine into the output.
struct ReferencedFiles {
    /// The real paths of the folders that references may lead into.
    private let folders: [String]
    /// The folder to name in a diagnostic.
    private let ownFolder: String

    /// - Parameters:
    ///   - document: The path of the document, as it was named.
    ///   - package: The folder of the package; `nil` for the folder of the document.
    ///   - others: Further folders, relative to that of the configuration.
    ///   - configuration: The path of the configuration file.
    init(document: String, package: String?, others: [String], configuration: String?) {
        let file = document == FileAccess.standardInput ? "stdin" : document
        let own =
            package.map { URL(fileURLWithPath: $0, isDirectory: true) }
            ?? URL(fileURLWithPath: file).deletingLastPathComponent()
        let base = URL(fileURLWithPath: configuration ?? file).deletingLastPathComponent()
        ownFolder = own.path
        folders = ([own] + others.map { URL(fileURLWithPath: $0, isDirectory: true, relativeTo: base) })
            .map { $0.resolvingSymlinksInPath().standardizedFileURL.path }
    }

    /// The bytes of a file that a document refers to.
    func contents(of path: String) throws -> [UInt8] {
        let url = URL(fileURLWithPath: path).resolvingSymlinksInPath().standardizedFileURL
        guard folders.contains(where: { url.path == $0 || url.path.hasPrefix($0.hasSuffix("/") ? $0 : $0 + "/") })
        else {
            throw Diagnostic(
                severity: .error,
                message: "is outside of the folder '\(ownFolder)'.",
                remedy: "move the file there, or list its folder under 'referenceFolders' of the configuration"
            )
        }
        let type = (try? FileManager.default.attributesOfItem(atPath: url.path))?[.type] as? FileAttributeType
        guard type == .typeRegular else {
            throw Diagnostic(
                severity: .error,
                message: type == nil ? "does not exist." : type == .typeDirectory ? "is a folder." : "is not a file.",
                remedy: "paths are relative to the file that the reference stands in"
            )
        }
        do throws(Diagnostic) {
            return try FileAccess.contents(of: url.path, what: "file")
        } catch {
            throw Diagnostic(severity: .error, message: "cannot be read. \(error.message)", remedy: error.remedy)
        }
    }
}
