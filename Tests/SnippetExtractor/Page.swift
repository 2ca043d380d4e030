/// What a page of documentation has for the compiler, in the order of the page.
///
/// A block whose language is `swift` is Swift, and so is a comment `<!-- swift … -->`, which a reader does not see. The
/// comment `<!-- not compiled: reason -->` excludes the next block. A block below a line `` `file`: `` is a file of a
/// program of its own, which another check builds, and is excluded, too.
struct Page: Hashable {
    /// One piece of Swift.
    struct Piece: Hashable {
        /// Whether a reader sees it.
        enum Visibility: Hashable { case shown, hidden }

        var visibility: Visibility
        /// The number of the first of the `lines`. In a page, the first line has the number 1.
        var firstLine: Int
        /// The lines without the indentation of the block.
        var lines: [String]
    }

    var pieces: [Piece] = []

    /// Reads a page.
    /// - Parameter text: Markdown. Its lines end with LF or CRLF.
    /// - Throws: The first line that makes it unclear what is compiled.
    init(_ text: String) throws(PageError) {
        let lines = text.replacing("\r\n", with: "\n").split(separator: "\n", omittingEmptySubsequences: false)
        var index = 0
        var excludedBy: Int?
        var lead: Substring = ""
        while index < lines.count {
            let line = lines[index]
            if let fence = Fence(line) {
                let end = lines[(index + 1)...].firstIndex(where: fence.isClosed(by:))
                guard let end else { throw PageError(line: index + 1, problem: "this block has no end") }
                if fence.isSwift {
                    if excludedBy == nil, !Self.isNameOfFile(lead) {
                        let block = lines[(index + 1)..<end].map(fence.withoutIndentation)
                        pieces.append(Piece(visibility: .shown, firstLine: index + 2, lines: block))
                    }
                    excludedBy = nil
                }
                if let excludedBy { throw .nothingExcluded(line: excludedBy) }
                lead = line
                index = end + 1
                continue
            }
            let trimmed = line.drop { $0 == " " || $0 == "\t" }
            if trimmed.hasPrefix("<!--") {
                let comment = try Comment(at: index, of: lines)
                switch comment.kind {
                case .swift(let piece): pieces.append(piece)
                case .notCompiled:
                    if let excludedBy { throw .nothingExcluded(line: excludedBy) }
                    excludedBy = index + 1
                case .other: break
                }
                index = comment.end + 1
                continue
            }
            if Self.hasCommentAboutSwift(line) {
                throw PageError(line: index + 1, problem: "a comment about Swift begins its line")
            }
            if trimmed.first == ">", Fence(trimmed.drop { ">\t ".contains($0) })?.isSwift == true {
                throw PageError(line: index + 1, problem: "a block of Swift cannot be part of a quote")
            }
            if !trimmed.isEmpty { lead = line }
            index += 1
        }
        if let excludedBy { throw .nothingExcluded(line: excludedBy) }
    }

    /// Whether a comment about Swift is among the words of a line, outside of `code`.
    private static func hasCommentAboutSwift(_ line: Substring) -> Bool {
        line.split(separator: "`", omittingEmptySubsequences: false).enumerated().contains { index, words in
            index.isMultiple(of: 2) && (words.contains("<!-- swift") || words.contains("<!-- not compiled"))
        }
    }

    /// Whether a line says that the block below it is a file of Swift.
    private static func isNameOfFile(_ line: Substring) -> Bool {
        line.hasPrefix("`") && line.hasSuffix(".swift`:") && !line.dropFirst().dropLast(2).contains("`")
    }
}

/// A mistake on a page.
struct PageError: Error, Hashable {
    /// The number of the line.
    var line: Int
    var problem: String

    static func nothingExcluded(line: Int) -> PageError {
        PageError(line: line, problem: "no block of Swift follows 'not compiled'")
    }
}

/// The line that begins a block.
private struct Fence {
    /// The blanks before it.
    var indentation: Substring
    /// Three or more backticks or tildes.
    var mark: Substring
    var isSwift: Bool

    init?(_ line: Substring) {
        indentation = line.prefix { $0 == " " || $0 == "\t" }
        let rest = line[indentation.endIndex...]
        guard let character = rest.first, character == "`" || character == "~" else { return nil }
        mark = rest.prefix { $0 == character }
        let information = rest[mark.endIndex...]
        guard mark.count >= 3, character == "~" || !information.contains("`") else { return nil }
        let language = information.drop { $0 == " " || $0 == "\t" }.prefix { $0.isLetter || $0.isNumber }
        isSwift = language.lowercased() == "swift"
    }

    /// Whether a line ends the block: the same character, at least as often, and nothing else.
    func isClosed(by line: Substring) -> Bool {
        let trimmed = line.drop { $0 == " " || $0 == "\t" }
        let other = trimmed.prefix { $0 == mark.first }
        return other.count >= mark.count && trimmed[other.endIndex...].allSatisfy { $0 == " " || $0 == "\t" }
    }

    /// A line of the block as it is where the block is not indented.
    func withoutIndentation(_ line: Substring) -> String {
        var rest = line
        for blank in indentation where rest.first == blank { rest.removeFirst() }
        return String(rest)
    }
}

/// A comment of HTML.
private struct Comment {
    enum Kind {
        case swift(Page.Piece)
        case notCompiled
        case other
    }

    var kind: Kind
    /// The index of its last line.
    var end: Int

    init(at begin: Int, of lines: [Substring]) throws(PageError) {
        guard let end = lines[begin...].firstIndex(where: { $0.contains("-->") }) else {
            throw PageError(line: begin + 1, problem: "this comment has no end")
        }
        self.end = end
        var content = lines[begin...end].map { $0 }
        var behind: Substring = ""
        if let mark = content[content.count - 1].firstRange(of: "-->") {
            behind = content[content.count - 1][mark.upperBound...]
            content[content.count - 1] = content[content.count - 1][..<mark.lowerBound]
        }
        if let mark = content[0].firstRange(of: "<!--") { content[0] = content[0][mark.upperBound...] }
        let first = content[0].drop { $0 == " " }
        if first == "swift" || first.hasPrefix("swift ") {
            let code = first.dropFirst("swift".count).drop { $0 == " " }
            var firstLine = begin + 1
            if code.isEmpty {
                content.removeFirst()
                firstLine += 1
            } else {
                content[0] = code
            }
            if content.last?.allSatisfy(\.isWhitespace) == true { content.removeLast() }
            // DocC reads directives before it knows of comments.
            for (index, line) in content.enumerated() where firstLine + index > begin + 1 {
                guard line.first(where: { $0 != " " && $0 != "\t" }) == "@" else { continue }
                let problem = "DocC takes this line for a directive; '@' is possible behind '<!-- swift' alone"
                throw PageError(line: firstLine + index, problem: problem)
            }
            kind = .swift(Page.Piece(visibility: .hidden, firstLine: firstLine, lines: content.map { String($0) }))
        } else if first.hasPrefix("not compiled") {
            let reason = first.dropFirst("not compiled:".count)
            guard first.hasPrefix("not compiled:"), content.count > 1 || reason.contains(where: \.isLetter) else {
                throw PageError(line: begin + 1, problem: "a reason follows 'not compiled:'")
            }
            kind = .notCompiled
        } else {
            kind = .other
            return
        }
        guard behind.allSatisfy(\.isWhitespace) else {
            throw PageError(line: end + 1, problem: "a comment about Swift ends its line")
        }
    }
}
