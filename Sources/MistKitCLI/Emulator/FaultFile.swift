import CloudKitEmulatorServer
import Foundation
import StreamingJSON

/// The fault rules of a file, for `mistkit emulator --faults` and `mistkit faults set`.
struct FaultFile {
    /// The rules as they are in the file.
    let values: [JSONValue]
    let rules: [FaultRule]

    /// Reads a file; `-` is standard input.
    ///
    /// - Throws: A ``CommandError`` that names the rule and the key.
    init(path: String) throws(CommandError) {
        let data =
            path == "-" ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: path)
        guard let data else { throw .unreadable(path) }
        try self.init([UInt8](data), of: path == "-" ? "standard input" : path)
    }

    init(_ bytes: [UInt8], of path: String) throws(CommandError) {
        do {
            values = try JSONReader.read([JSONValue].self, from: bytes)
        } catch {
            throw CommandError(
                code: .data,
                message: "\(path) is not an array of rules in JSON: \(error)",
                remedy: #"Write rules such as [{"fault":"throttle","retryAfter":3,"on":"records/modify"}]."#
            )
        }
        do {
            rules = try FaultRule.rules(from: values)
        } catch {
            throw CommandError(
                code: .data,
                message: "Rule \(error.rule) of \(path) \(error.text).",
                remedy: "The faults are \(FaultRule.faultNames.joined(separator: ", "))."
            )
        }
    }
}
