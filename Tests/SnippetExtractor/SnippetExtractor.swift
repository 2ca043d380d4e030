import Foundation

/// Writes the Swift of pages into a folder, a file for each page: `SnippetExtractor FOLDER MODULE,… PAGE…`.
@main
struct SnippetExtractor {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 3 else { fail(["usage: SnippetExtractor FOLDER MODULE,… PAGE…"]) }
        let folder = URL(fileURLWithPath: arguments[1])
        let modules = arguments[2].split(separator: ",").map { String($0) }
        var problems: [String] = []
        for path in arguments[3...] {
            let name = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
            let text = try String(contentsOfFile: path, encoding: .utf8)
            do {
                let file = try SnippetFile(Page(text), named: name, path: path, importing: modules)
                try write(file.text, to: folder.appending(path: "\(name).swift"))
            } catch let error as PageError {
                problems.append("\(path):\(error.line): error: \(error.problem)")
            }
        }
        if !problems.isEmpty { fail(problems) }
    }

    /// Writes a file, unless it has this text already: then nothing is compiled again.
    private static func write(_ text: String, to file: URL) throws {
        let data = Data(text.utf8)
        if FileManager.default.contents(atPath: file.path) != data { try data.write(to: file) }
    }

    private static func fail(_ problems: [String]) -> Never {
        FileHandle.standardError.write(Data(problems.map { $0 + "\n" }.joined().utf8))
        exit(1)
    }
}
