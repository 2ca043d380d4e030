import Foundation

/// Runs a program on the search path. If the program is missing, the exit code is not 0.
///
/// - Returns: Its exit code, and what it wrote to standard output and standard error.
func run(_ arguments: String..., input: [UInt8] = []) throws -> (code: Int32, output: String) {
    try run(arguments: arguments, input: input)
}

/// Runs a program with the arguments in an array.
func run(arguments: [String], input: [UInt8] = []) throws -> (code: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = arguments
    let output = Pipe()
    let standardInput = Pipe()
    process.standardOutput = output
    process.standardError = output
    process.standardInput = standardInput
    try process.run()
    try standardInput.fileHandleForWriting.write(contentsOf: Data(input))
    try standardInput.fileHandleForWriting.close()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
}

let hasOpenSSL = (try? run("openssl", "version").code) == 0
