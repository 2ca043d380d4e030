import Testing

struct PageTests {
    /// What a page has, as text: the first line of each piece, whether it is shown, and its lines.
    private func pieces(_ text: String) throws(PageError) -> [String] {
        try Page(text).pieces.map { piece in
            "\(piece.firstLine) \(piece.visibility) \(piece.lines.joined(separator: "|"))"
        }
    }

    @Test(
        arguments: [
            ("no Swift", "# Title\n\nText.\n", []),
            ("a block", "Text:\n\n```swift\nlet a = 1\nprint(a)\n```\n", ["4 shown let a = 1|print(a)"]),
            (
                "lines that end with CRLF", "Text:\r\n\r\n```swift\r\nlet a = 1\r\nlet b = 2\r\n```\r\n",
                ["4 shown let a = 1|let b = 2"]
            ),
            ("another language", "```sh\nls\n```\n\n```\ntext\n```\n", []),
            ("tildes, capitals and more words", "~~~ Swift file=a\nlet a = 1\n~~~\n", ["2 shown let a = 1"]),
            (
                "a block in a list", "- An item:\n\n  ```swift\n  if a {\n      b()\n\n  }\n  ```\n",
                ["4 shown if a {|    b()||}"]
            ),
            ("a block behind tabs", "\t```swift\n\tif a {\n\t\tb()\n\t}\n\t```\n", ["2 shown if a {|\tb()|}"]),
            ("a block of Markdown with a block", "````md\n```swift\nlet a = 1\n```\n````\n", []),
            (
                "a long fence around a short one", "````swift\nlet a = \"\"\"\n    ```\n    \"\"\"\n````\n",
                ["2 shown let a = \"\"\"|    ```|    \"\"\""]
            ),
            ("a test", "```swift\n@Test func a() {}\n```\n", ["2 shown @Test func a() {}"]),
            ("an empty block", "```swift\n```\n", ["2 shown "]),
            ("a hidden piece", "<!-- swift\nlet a = 1\n\nlet b = 2\n-->\n", ["2 hidden let a = 1||let b = 2"]),
            ("a hidden line", "<!-- swift import A -->\n", ["1 hidden import A "]),
            ("a hidden piece that begins and ends beside the marks", "<!-- swift a {\n} -->\n", ["1 hidden a {|} "]),
            ("a hidden test", "<!-- swift @Test func a() {\n    b()\n-->\n", ["1 hidden @Test func a() {|    b()"]),
            ("a page about comments", "Write `<!-- swift a -->` before it.\n", []),
            ("another comment", "<!-- Swift for all\n```swift\n-->\n<!-- swiftly -->\n", []),
            ("a comment in a block", "```html\n<!-- swift let a = 1 -->\n```\n", []),
            (
                "not compiled", "<!-- not compiled: the old API -->\n```swift\na\n```\n\n```swift\nb\n```\n",
                ["7 shown b"]
            ),
            ("the reason has two lines", "<!-- not compiled: the\nold API -->\n\nText:\n\n```swift\na\n```\n", []),
            ("a file", "`Package.swift`:\n\n```swift\na\n```\n\n```swift\nb\n```\n", ["8 shown b"]),
            ("code that is no file", "`f()`:\n\n```swift\na\n```\n", ["4 shown a"]),
            ("words before the name of a file", "In `Package.swift`:\n\n```swift\na\n```\n", ["4 shown a"]),
        ] as [(String, String, [String])]
    )
    func aPageHasPieces(what: String, text: String, expected: [String]) throws {
        #expect(try pieces(text) == expected, "\(what)")
    }

    @Test(
        arguments: [
            ("Text.\n\n```swift\nlet a = 1\n", 3, "this block has no end"),
            ("```swift\na\n``\n", 1, "this block has no end"),
            ("```sh\nls\n~~~\n", 1, "this block has no end"),
            ("Text.\n<!-- swift\nlet a = 1\n", 2, "this comment has no end"),
            ("<!-- text\n", 1, "this comment has no end"),
            ("<!-- not compiled -->\n```swift\n```\n", 1, "a reason follows 'not compiled:'"),
            ("<!-- not compiled: -->\n```swift\n```\n", 1, "a reason follows 'not compiled:'"),
            ("<!-- not compiled: old -->\nText.\n", 1, "no block of Swift follows 'not compiled'"),
            ("<!-- not compiled: old -->\n```sh\n```\n", 1, "no block of Swift follows 'not compiled'"),
            (
                "<!-- not compiled: a -->\n<!-- not compiled: b -->\n```swift\n```\n", 1,
                "no block of Swift follows 'not compiled'"
            ),
            ("Text <!-- swift a -->\n", 1, "a comment about Swift begins its line"),
            ("<!-- swift\na\n--> text\n", 3, "a comment about Swift ends its line"),
            (
                "<!-- swift\na\n  @Test func b() {}\n-->\n", 3,
                "DocC takes this line for a directive; '@' is possible behind '<!-- swift' alone"
            ),
            ("> Note:\n> ```swift\n> a\n> ```\n", 2, "a block of Swift cannot be part of a quote"),
        ]
    )
    func aMistakeHasALine(text: String, line: Int, problem: String) {
        let error = #expect(throws: PageError.self) { try Page(text) }
        #expect(error == PageError(line: line, problem: problem))
    }
}
