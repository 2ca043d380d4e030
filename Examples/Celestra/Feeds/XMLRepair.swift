import WebText

/// Turns text that is meant to be XML into well-formed XML.
///
/// The text is read as tags and characters, without a grammar, and written again: each start tag gets its end tag, each
/// reference becomes a character, and everything that is not markup is escaped. Comments, processing instructions and
/// declarations are left out. The result keeps the line breaks between tags. Each change is reported as a problem with
/// its line.
///
///     <item><title>Fish & Chips&nbsp;<link>/a</item>
///     <item><title>Fish &amp; Chips </title><link>/a</link></item>
struct XMLRepair {
    private let bytes: [UInt8]
    private var position: Int
    private var output: [UInt8] = []
    private var problems = ProblemLog()
    private var open: [OpenElement] = []
    private var hasEnded = false
    /// The marks that were searched for without success, so that they are not searched for again.
    private var missingMarks: Set<String> = []
    private var lineCounter = LineCounter()

    private struct OpenElement {
        var name: String
        /// Whether its tags are in the output. Elements that are nested too deeply are not.
        var isWritten: Bool
    }

    /// Repairs a document that has no document type declaration.
    static func repaired(_ text: String, problems: inout ProblemLog) -> String {
        var repair = XMLRepair(text, problems: problems)
        repair.run()
        problems = repair.problems
        return String(decoding: repair.output, as: UTF8.self)
    }

    private init(_ text: String, problems: ProblemLog) {
        bytes = Array(text.utf8)
        position = 0
        self.problems = problems
        output.reserveCapacity(bytes.count + bytes.count / 8)
    }

    private mutating func run() {
        position = rootStart()
        if bytes[..<position].contains(where: { !$0.isXMLSpace }) {
            report(.textOutsideRoot, at: 0, "there is text before the root element")
        }
        output.append(contentsOf: bytes[..<position].filter { $0 == 0x0A })
        while position < bytes.count && !hasEnded {
            switch bytes[position] {
            case UInt8(ascii: "<"): takeMarkup()
            case UInt8(ascii: "&"): takeReference(in: bytes.endIndex, isAttribute: false)
            default: takeCharacter()
            }
        }
        if !hasEnded, let last = open.last {
            report(.truncated, at: bytes.count, "the document ends within <\(last.name)>")
            closeElements(to: 0)
        }
    }

    // MARK: - Markup

    private mutating func takeMarkup() {
        if starts(with: "<!--") {
            if let end = end(of: "-->", from: position + 4) {
                position = end
            } else {
                report(.unclosedSection, at: position, "a comment is not closed")
                position += 4
            }
        } else if starts(with: "<![CDATA[") {
            takeCharacterData()
        } else if starts(with: "<?") {
            skipDeclaration(to: "?>")
        } else if starts(with: "<!"), byte(at: position + 2)?.isASCIILetter == true {
            skipDeclaration(to: ">")
        } else if starts(with: "</"), let first = byte(at: position + 2), isNameStart(first) {
            takeEndTag()
        } else if let first = byte(at: position + 1), isNameStart(first) {
            takeStartTag()
        } else {
            report(.strayAngleBracket, at: position, "\"<\" does not begin a tag")
            write("&lt;")
            position += 1
        }
    }

    private mutating func skipDeclaration(to mark: String) {
        if let end = end(of: mark, from: position + 2) {
            if mark == ">" { report(.malformedTag, at: position, "there is a declaration within the document") }
            position = end
        } else {
            report(.unclosedSection, at: position, "a declaration is not closed")
            position += 2
        }
    }

    private mutating func takeCharacterData() {
        let start = position + 9
        var contentEnd = bytes.count
        if let end = end(of: "]]>", from: start) {
            contentEnd = end - 3
            position = end
        } else {
            report(.unclosedSection, at: position, "a CDATA section is not closed")
            // It ends with the element that it is in, or with the document.
            if let name = open.last?.name, let end = end(of: "</\(name)", from: start) {
                contentEnd = end - name.utf8.count - 2
            }
            position = contentEnd
        }
        var index = start
        while index < contentEnd { index = writeCharacter(at: index) }
    }

    private mutating func takeEndTag() {
        let start = position
        position += 2
        let name = takeName()
        while let byte = byte(at: position), byte != UInt8(ascii: ">"), byte != UInt8(ascii: "<") { position += 1 }
        if byte(at: position) == UInt8(ascii: ">") {
            position += 1
        } else {
            report(.malformedTag, at: start, "the end tag </\(name)> is not closed")
        }
        let index =
            open.lastIndex { $0.name == name }
            ?? open.lastIndex { $0.name.lowercased() == name.lowercased() }
        guard let index else {
            // An empty element of HTML was already closed in its start tag.
            if !emptyHTMLElements.contains(name.lowercased()) {
                report(.unmatchedEndTag, at: start, "</\(name)> has no start tag")
            }
            return
        }
        if index + 1 < open.count, let last = open.last {
            report(.unclosedElement, at: start, "<\(last.name)> is not closed before </\(name)>")
        }
        closeElements(to: index)
    }

    private mutating func takeStartTag() {
        let start = position
        position += 1
        let name = takeName()
        var attributes: [(name: String, value: Range<Int>)] = []
        var isEmpty = false
        var isClosed = false
        while let byte = byte(at: position) {
            if byte == UInt8(ascii: ">") {
                position += 1
                isClosed = true
                break
            }
            if byte == UInt8(ascii: "<") { break }
            if byte.isXMLSpace {
                position += 1
            } else if byte == UInt8(ascii: "/") {
                isEmpty = self.byte(at: position + 1) == UInt8(ascii: ">")
                position += 1
            } else if isNameStart(byte) {
                takeAttribute(of: name, into: &attributes)
            } else {
                report(.malformedTag, at: position, "the tag <\(name)> has a stray character")
                position += 1
            }
        }
        if !isClosed {
            report(.malformedTag, at: start, "the tag <\(name)> is not closed")
            // In a truncated document, the last tag is lost.
            guard position < bytes.count else { return }
        }
        closeElements(before: name, at: start)
        if open.isEmpty, !output.allSatisfy(\.isXMLSpace) {
            hasEnded = true
            return
        }
        let isWritten = open.count < FeedDocument.maximumDepth
        if !isWritten { report(.tooDeep, at: start, "<\(name)> is nested too deeply") }
        let isVoid = emptyHTMLElements.contains(name.lowercased()) && !open.isEmpty
        if isVoid && !isEmpty { report(.unclosedElement, at: start, "<\(name)> is not closed") }
        if isWritten {
            write("<\(name)")
            for attribute in attributes {
                write(" \(attribute.name)=\"")
                writeValue(attribute.value)
                write("\"")
            }
            write(isEmpty || isVoid ? "/>" : ">")
        }
        if isEmpty || isVoid {
            hasEnded = open.isEmpty
        } else if open.count < 2 * FeedDocument.maximumDepth {
            open.append(OpenElement(name: name, isWritten: isWritten))
        }
    }

    private mutating func takeAttribute(of element: String, into attributes: inout [(name: String, value: Range<Int>)])
    {
        let start = position
        let name = takeName()
        skipSpace()
        var value = position..<position
        if byte(at: position) == UInt8(ascii: "=") {
            position += 1
            skipSpace()
            value = takeValue(of: element)
        } else {
            report(.malformedTag, at: start, "the attribute \(name) of <\(element)> has no value")
        }
        if attributes.contains(where: { $0.name == name }) {
            report(.duplicateAttribute, at: start, "<\(element)> has the attribute \(name) twice")
        } else if attributes.count >= maximumAttributes {
            report(.malformedTag, at: start, "<\(element)> has more than \(maximumAttributes) attributes")
        } else {
            attributes.append((name, value))
        }
    }

    private mutating func takeValue(of element: String) -> Range<Int> {
        let start = position
        if let quote = byte(at: position), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            var end = start + 1
            var hasTagEnd = false
            while let byte = byte(at: end), byte != quote {
                // A value with the end of a tag and the start of the next one lacks its closing quote.
                if byte == UInt8(ascii: ">") { hasTagEnd = true }
                if byte == UInt8(ascii: "<"), hasTagEnd { break }
                end += 1
            }
            if byte(at: end) == quote {
                position = end + 1
                return (start + 1)..<end
            }
            report(.malformedTag, at: start, "a value of <\(element)> lacks its closing quote")
            position += 1
        } else {
            report(.malformedTag, at: start, "a value of <\(element)> has no quotes")
        }
        let valueStart = position
        while let byte = byte(at: position), !byte.isXMLSpace, byte != UInt8(ascii: ">"), byte != UInt8(ascii: "<") {
            position += 1
        }
        return valueStart..<position
    }

    /// Closes the elements that end where an element of this name begins: an unclosed element that contains only text,
    /// and the open item before the next item.
    private mutating func closeElements(before name: String, at offset: Int) {
        let name = name.lowercased()
        guard structuralElements.contains(name) else { return }
        if name == "item" || name == "entry" {
            guard let index = open.lastIndex(where: { $0.name.lowercased() == name }) else { return }
            report(.unclosedElement, at: offset, "<\(name)> is not closed before the next one")
            closeElements(to: index)
        } else if let last = open.last?.name.lowercased(), textElements.contains(last) {
            report(.unclosedElement, at: offset, "<\(last)> is not closed before <\(name)>")
            closeElements(to: open.count - 1)
        }
    }

    private mutating func closeElements(to count: Int) {
        while open.count > count {
            let element = open.removeLast()
            if element.isWritten { write("</\(element.name)>") }
        }
        hasEnded = open.isEmpty
        if hasEnded, bytes[position...].contains(where: { !$0.isXMLSpace }), !onlyCommentsFollow() {
            report(.textOutsideRoot, at: position, "there is text after the root element")
        }
    }

    private func onlyCommentsFollow() -> Bool {
        let rest = bytes[position...].drop(while: \.isXMLSpace)
        return rest.starts(with: Array("<!--".utf8)) || rest.starts(with: Array("<?".utf8))
    }

    // MARK: - Characters

    private mutating func takeCharacter() {
        position = writeCharacter(at: position)
    }

    /// Writes the character at an offset, and returns the offset after it.
    private mutating func writeCharacter(at index: Int) -> Int {
        let byte = bytes[index]
        switch byte {
        case UInt8(ascii: "<"): write("&lt;")
        case UInt8(ascii: ">"): write("&gt;")
        case UInt8(ascii: "&"): write("&amp;")
        case UInt8(ascii: "\""): write("&quot;")
        case 0x09, 0x0A, 0x0D: output.append(byte)
        case 0..<0x20:
            report(.controlCharacter, at: index, "the control character \(byte)")
        case 0xEF
        where bytes[index...].starts(with: [0xEF, 0xBF, 0xBE]) || bytes[index...].starts(with: [0xEF, 0xBF, 0xBF]):
            report(.controlCharacter, at: index, "a character that XML does not allow")
            return index + 3
        default: output.append(byte)
        }
        return index + 1
    }

    private mutating func writeValue(_ range: Range<Int>) {
        let resume = position
        position = range.lowerBound
        while position < range.upperBound {
            if bytes[position] == UInt8(ascii: "&") {
                takeReference(in: range.upperBound, isAttribute: true)
            } else {
                takeCharacter()
            }
        }
        position = resume
    }

    private mutating func takeReference(in end: Int, isAttribute: Bool) {
        let start = position
        var index = start + 1
        while index < end, index - start < 40,
            bytes[index].isASCIILetter || bytes[index].isASCIIDigit || bytes[index] == UInt8(ascii: "#")
        {
            index += 1
        }
        let name = String(decoding: bytes[(start + 1)..<index], as: UTF8.self)
        guard index < end, bytes[index] == UInt8(ascii: ";"), !name.isEmpty else {
            report(.strayAmpersand, at: start, "\"&\" does not begin a reference")
            write("&amp;")
            position = start + 1
            return
        }
        position = index + 1
        if name.hasPrefix("#") {
            if let character = HTMLEntities.character(numbered: name.dropFirst()) {
                write(HTMLText.escaped(String(character), inAttribute: true))
            } else {
                report(.invalidCharacterReference, at: start, "&\(name);")
            }
        } else if let character = HTMLEntities.character(named: name) {
            if !["amp", "lt", "gt", "quot", "apos"].contains(name) { report(.undefinedEntity, at: start, "&\(name);") }
            write(HTMLText.escaped(String(character), inAttribute: true))
        } else {
            report(.undefinedEntity, at: start, "&\(name);")
            write("&amp;\(name);")
        }
    }

    // MARK: - Bytes

    /// The offset of the first tag that can be the root of a feed. The text before it is not part of the feed. Where no
    /// tag can be the root, the offset of the first tag.
    private func rootStart() -> Int {
        var firstTag: Int?
        for index in bytes.indices where bytes[index] == UInt8(ascii: "<") {
            guard let next = byte(at: index + 1), isNameStart(next) else { continue }
            firstTag = firstTag ?? index
            let name = bytes[(index + 1)...].prefix(16).prefix { isNameByte($0) }
            let words = String(decoding: name, as: UTF8.self).lowercased().split(separator: ":")
            if let localName = words.last, ["rss", "feed", "rdf", "channel"].contains(localName) { return index }
        }
        return firstTag ?? bytes.count
    }

    private mutating func takeName() -> String {
        let start = position
        while let byte = byte(at: position), isNameByte(byte) { position += 1 }
        let name = String(decoding: bytes[start..<position], as: UTF8.self)
        // A name has one colon at most, and not at its ends.
        let parts = name.split(separator: ":")
        return parts.count <= 2
            ? parts.joined(separator: ":") : "\(parts[0]):\(parts.dropFirst().joined(separator: "-"))"
    }

    private func isNameStart(_ byte: UInt8) -> Bool { byte.isASCIILetter || byte == UInt8(ascii: "_") }

    private func isNameByte(_ byte: UInt8) -> Bool {
        isNameStart(byte) || byte.isASCIIDigit || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }

    private mutating func skipSpace() {
        while let byte = byte(at: position), byte.isXMLSpace { position += 1 }
    }

    private func byte(at index: Int) -> UInt8? { index < bytes.count ? bytes[index] : nil }

    private func starts(with mark: String) -> Bool { bytes[position...].starts(with: mark.utf8) }

    private mutating func end(of mark: String, from start: Int) -> Int? {
        guard !missingMarks.contains(mark), start <= bytes.count else { return nil }
        var index = start
        while let candidate = bytes[index...].firstIndex(of: mark.utf8.first ?? 0) {
            if bytes[candidate...].starts(with: mark.utf8) { return candidate + mark.utf8.count }
            index = candidate + 1
        }
        missingMarks.insert(mark)
        return nil
    }

    private mutating func write(_ text: String) { output.append(contentsOf: text.utf8) }

    private mutating func report(_ kind: FeedProblem.Kind, at offset: Int, _ detail: @autoclosure () -> String) {
        // The line of the first occurrence is kept; for others, it is not counted.
        problems.add(kind, line: problems.contains(kind) ? nil : lineCounter.line(at: offset, in: bytes), detail())
    }
}

/// Finds the line numbers of offsets. It is fast where the offsets mostly grow.
private struct LineCounter {
    private var offset = 0
    private var line = 1

    mutating func line(at target: Int, in bytes: [UInt8]) -> Int {
        if target < offset { (offset, line) = (0, 1) }
        line += bytes[offset..<target].count { $0 == 0x0A }
        offset = target
        return line
    }
}

/// The maximum number of attributes of a tag; the others are left out.
private let maximumAttributes = 500

/// The elements of HTML that have no content, except `link`, `source` and `param`, which are elements of feeds as well.
private let emptyHTMLElements: Set<String> = ["area", "br", "col", "embed", "hr", "img", "input", "wbr"]

/// The elements of RSS and Atom whose start ends an element of text that was not closed.
private let structuralElements: Set<String> = [
    "author", "category", "comments", "content:encoded", "dc:creator", "dc:date", "description", "enclosure", "entry",
    "generator",
    "guid", "id", "item", "language", "lastbuilddate", "link", "managingeditor", "pubdate", "published", "summary",
    "title", "ttl",
    "updated", "webmaster",
]

/// The elements of RSS and Atom that contain text only.
private let textElements: Set<String> = [
    "comments", "dc:creator", "dc:date", "generator", "guid", "id", "language", "lastbuilddate", "link",
    "managingeditor", "pubdate",
    "published", "title", "ttl", "updated", "webmaster",
]
