import CloudKitEmulatorServer
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
        let file = InputFile(path: path)
        try self.init(try file.bytes(), of: file.title)
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
