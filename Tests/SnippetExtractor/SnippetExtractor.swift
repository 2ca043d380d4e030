import Foundation

/// Writes the Swift of a page into a file: `SnippetExtractor PAGE FILE MODULE…`.
@main
struct SnippetExtractor {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst().map { $0 }
        guard arguments.count >= 2 else { fail("usage: SnippetExtractor PAGE FILE MODULE…") }
        let (path, output) = (arguments[0], arguments[1])
        do throws(PageError) {
            let name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
            let page = try Page(read(path))
            let file = try SnippetFile(page, named: name, path: path, importing: Array(arguments[2...]))
            write(file.text, to: output)
        } catch {
            fail("\(path):\(error.line): error: \(error.problem)")
        }
    }

    private static func read(_ path: String) -> String {
        do {
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            fail("\(path): \(error)")
        }
    }

    /// Writes the file, unless it has this text already: then nothing is compiled again.
    private static func write(_ text: String, to path: String) {
        if FileManager.default.contents(atPath: path) == Data(text.utf8) { return }
        do {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        } catch {
            fail("\(path): \(error)")
        }
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data((message + "\n").utf8))
        exit(1)
    }
}
