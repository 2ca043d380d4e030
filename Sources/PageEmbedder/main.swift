import Foundation

// Writes files as the string literals of a Swift file: PageEmbedder OUTPUT FOLDER NAME…
//
// A literal of text compiles at once, and needs no memory until the file is asked for. A list of 250,000 numbers, which
// the package manager's own way to embed a file writes, takes the compiler minutes.

struct UnreadableFile: Error, CustomStringConvertible {
    let description: String
}

func literal(of text: String) -> String {
    // No run of number signs in the text is as long as the delimiter, so nothing in it ends the literal or escapes.
    var (run, longest) = (0, 0)
    for character in text.utf8 {
        run = character == UInt8(ascii: "#") ? run + 1 : 0
        longest = max(longest, run)
    }
    let delimiter = String(repeating: "#", count: longest + 1)
    return "\(delimiter)\"\"\"\n\(text)\n\"\"\"\(delimiter)"
}

let (output, folder, names) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments.dropFirst(3))
var entries: [String] = []
for name in names {
    let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
    guard let text = String(data: data, encoding: .utf8), !text.contains("\r"), !text.contains("\0") else {
        throw UnreadableFile(description: "\(folder)/\(name) is not text in UTF-8 whose lines end with a line feed.")
    }
    entries.append("            \"\(name)\": \(literal(of: text)),")
}
let source = """
    package import CloudKitEmulatorServer

    extension PageFiles {
        /// The console's page.
        package static let console = PageFiles([
    \(entries.isEmpty ? "            :" : entries.joined(separator: "\n"))
        ])
    }

    """
// The package manager links this program in almost each build, and then runs it. As long as the page is the same, its file
// stays untouched, so that what contains it is not compiled and linked again.
let (embedded, file) = (Data(source.utf8), URL(fileURLWithPath: output))
if try !FileManager.default.fileExists(atPath: output) || Data(contentsOf: file) != embedded {
    try embedded.write(to: file)
}
