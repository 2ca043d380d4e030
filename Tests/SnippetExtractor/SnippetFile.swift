/// The file of Swift that is compiled for a page.
///
/// Its lines have the numbers of the page, so that the compiler's errors point into the page.
struct SnippetFile {
    /// The contents of the file.
    let text: String

    /// Puts the pieces of a page into one file, in the order of the page.
    ///
    /// A hidden piece stands as it is. A shown piece between the brackets of hidden ones does so as well. The
    /// declarations at the beginning of another shown piece stand at the top of the file, and the rest is the body of
    /// a function of its own: `func Page_3() async throws`, where 3 is the number of the piece among the shown ones.
    /// - Parameters:
    ///   - page: The Swift of the page.
    ///   - name: The page's name, without folders and extension.
    ///   - path: The page's path, for the compiler's errors.
    ///   - modules: The modules that each file of the book imports.
    /// - Throws: The line of a bracket that is not closed, or closed twice.
    init(_ page: Page, named name: String, path: String, importing modules: [String]) throws(PageError) {
        var writer = Writer(path: path)
        if !page.pieces.isEmpty { writer.lines += modules.map { "import \($0)" } }
        var nesting = SwiftNesting()
        var opened = 0
        var count = 0
        for piece in page.pieces {
            let wasAtTop = nesting.isAtTop
            var own = SwiftNesting()
            for line in piece.lines {
                nesting.read(line)
                own.read(line)
            }
            switch piece.visibility {
            case .hidden:
                if nesting.hasClosedTooMuch {
                    throw PageError(line: piece.firstLine, problem: "this closes a bracket that nothing has opened")
                }
                if nesting.isInText {
                    throw PageError(line: piece.firstLine, problem: "this ends in the middle of a string or a comment")
                }
                if wasAtTop { opened = piece.firstLine }
                writer.write(piece.lines, at: piece.firstLine)
            case .shown:
                count += 1
                guard own.isAtTop, !own.hasClosedTooMuch else {
                    throw PageError(line: piece.firstLine, problem: "the brackets of this block do not match")
                }
                if wasAtTop {
                    writer.write(piece, inFunction: "\(Self.identifier(name))_\(count)")
                } else {
                    writer.write(piece.lines, at: piece.firstLine)
                }
            }
        }
        guard nesting.isAtTop else { throw PageError(line: opened, problem: "nothing closes what this opens") }
        text = writer.lines.map { $0 + "\n" }.joined()
    }

    private static func identifier(_ name: String) -> String {
        String(name.map { $0.isLetter || $0.isNumber ? $0 : "_" })
    }
}

/// The lines of the file.
private struct Writer {
    let path: String
    var lines = ["// What the page has for the compiler; see Tests/SnippetExtractor."]

    mutating func write(_ code: [String], at number: Int) {
        guard !code.isEmpty else { return }
        let escaped = path.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        lines.append("#sourceLocation(file: \"\(escaped)\", line: \(number))")
        lines += code
    }

    mutating func write(_ piece: Page.Piece, inFunction name: String) {
        let count = piece.countOfDeclarations
        write(Array(piece.lines[..<count]), at: piece.firstLine)
        let body = piece.lines[count...]
        guard !body.isEmpty else { return }
        // The head of the function has the number of the line before, and its end the number of the line behind.
        write(["func \(name)() async throws {"] + body, at: piece.firstLine + count - 1)
        lines.append((piece.variables(behind: count).map { "_ = \($0);" } + ["}"]).joined(separator: " "))
    }
}

extension Page.Piece {
    /// The number of lines before the first statement.
    ///
    /// A declaration or a statement begins at the left margin, outside of all brackets; a comment belongs to what
    /// follows it. `let` and `var` are statements.
    fileprivate var countOfDeclarations: Int {
        var nesting = SwiftNesting()
        var before = 0
        for (index, line) in lines.enumerated() {
            if nesting.isAtTop, let first = line.first, !first.isWhitespace, !line.hasPrefix("//") {
                guard line.hasPrefix("/*") || Self.isDeclaration(line) else { return before }
            }
            nesting.read(line)
            if nesting.isAtTop, !line.hasPrefix("//"), !line.allSatisfy(\.isWhitespace) { before = index + 1 }
        }
        return lines.count
    }

    private static func isDeclaration(_ line: String) -> Bool {
        if line.hasPrefix("@") || line.hasPrefix("#if") || line.hasPrefix("#e") || line.hasPrefix("}") { return true }
        let words = line.split { !$0.isLetter && $0 != "_" }
        let first = words.first { !modifiers.contains(String($0)) }
        return first.map { keywords.contains(String($0)) } ?? false
    }

    private static let modifiers: Set<String> = [
        "final", "fileprivate", "indirect", "internal", "nonisolated", "package", "private", "public",
    ]
    private static let keywords: Set<String> = [
        "actor", "class", "enum", "extension", "func", "import", "protocol", "struct", "typealias",
    ]

    /// The names that `let` and `var` declare at the left margin. The function uses them at its end, since a reader
    /// of the page may need no value of them, and the compiler would warn.
    fileprivate func variables(behind count: Int) -> [String] {
        var nesting = SwiftNesting()
        var names: [String] = []
        for line in lines[count...] {
            if nesting.isAtTop, line.hasPrefix("let ") || line.hasPrefix("var ") {
                let pattern = line.dropFirst(4).prefix { $0 != ":" && $0 != "=" }
                names += pattern.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map { String($0) }
            }
            nesting.read(line)
        }
        return names.filter { $0 != "_" }
    }
}
