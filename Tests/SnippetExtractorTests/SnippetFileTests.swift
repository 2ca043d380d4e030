import Foundation
import Testing

struct SnippetFileTests {
    /// The lines that are compiled for a page, each with its number in the page.
    private func lines(_ text: String) throws(PageError) -> [String] {
        let file = try SnippetFile(try Page(text), named: "A page", path: "A page.md", importing: ["Testing"])
        var number: Int?
        var numbered: [String] = []
        for line in file.text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().dropLast() {
            if line.hasPrefix("#sourceLocation(file: \"A page.md\", line: ") {
                number = line.dropLast().split(separator: " ").last.flatMap { Int($0) }
            } else if let current = number {
                numbered.append("\(current): \(line)")
                number = current + 1
            } else {
                numbered.append(String(line))
            }
        }
        return numbered
    }

    @Test func aPageWithoutSwiftImportsNothing() throws {
        #expect(try lines("# Title\n") == [])
    }

    @Test func statementsAreTheBodyOfAFunction() throws {
        let page =
            "```swift\nlet (a, b) = (1, 2)\n// More.\nvar c: Int = {\n    let d = 1\n    return d\n}()\nc += 1\n```\n"
        #expect(
            try lines(page) == [
                "import Testing", "1: func A_page_1() async throws {", "2: let (a, b) = (1, 2)", "3: // More.",
                "4: var c: Int = {", "5:     let d = 1", "6:     return d", "7: }()", "8: c += 1",
                "9: _ = a; _ = b; _ = c; }",
            ]
        )
    }

    @Test(
        arguments: [
            "import A", "@Test func a() {}", "@A\nstruct B {\n    var c: Int\n}", "public final class A {}",
            "#if A\nimport A\n#else\nimport B\n#endif", "/// A\nextension A {}", "func a(\n    b: Int\n) {\n}",
            "/* a\n   b */\nactor A {}", "private func a() -> String { \"{\" }",
        ]
    )
    func declarationsAreAtTheTop(code: String) throws {
        let text = try lines("```swift\n\(code)\n```\n").joined(separator: "\n")
        #expect(!text.contains("A_page"))
        #expect(text.hasSuffix(code.split(separator: "\n").last ?? ""))
    }

    @Test func aFunctionBeginsWithTheFirstStatement() throws {
        let page = "```swift\nimport A\n\nstruct B {}\n// Run it:\ntry await run(B())\nfunc c() {}\n```\n"
        #expect(
            try lines(page) == [
                "import Testing", "2: import A", "3: ", "4: struct B {}", "4: func A_page_1() async throws {",
                "5: // Run it:", "6: try await run(B())", "7: func c() {}", "8: }",
            ]
        )
    }

    @Test func hiddenPiecesStandAroundShownOnes() throws {
        let page =
            "<!-- swift @Test func a() {\n-->\n\n```swift\nlet b = 1\n```\n\n<!-- swift }\n-->\n\n```swift\nc()\n```\n"
        #expect(
            try lines(page) == [
                "import Testing", "1: @Test func a() {", "5: let b = 1", "8: }", "11: func A_page_2() async throws {",
                "12: c()", "13: }",
            ]
        )
    }

    @Test(
        arguments: [
            #"a("}")"#, #"a("\("b\("}")")")"#, ##"a(#"\(}"#)"##, ##"a(#"\#(b("}"))"#)"##, "a() // }",
            "a() /* } /* } */ } */",
            "a(\"\"\"\n    } \" \\\"\"\" )\n    \"\"\")", #"a("\"}")"#, "a[b(c { $0 })]",
        ]
    )
    func bracketsInTextDoNotCount(code: String) throws {
        #expect(try lines("```swift\n\(code)\n```\n").last?.hasSuffix("}") == true)
    }

    @Test(
        arguments: [
            ("Text.\n\n```swift\nif a {\n```\n", 4, "the brackets of this block do not match"),
            ("```swift\n}\nif a {\n```\n", 2, "the brackets of this block do not match"),
            ("```swift\n/* a\n```\n", 2, "the brackets of this block do not match"),
            ("<!-- swift func a() { -->\n```swift\nb()\n```\n", 1, "nothing closes what this opens"),
            ("<!-- swift } -->\n", 1, "this closes a bracket that nothing has opened"),
            ("<!-- swift a(\"\"\" -->\n", 1, "this ends in the middle of a string or a comment"),
        ]
    )
    func bracketsMatch(text: String, line: Int, problem: String) {
        let error = #expect(throws: PageError.self) { try lines(text) }
        #expect(error == PageError(line: line, problem: problem))
    }

    /// A page that no book has would be compiled by nothing.
    @Test func everyPageWithSwiftBelongsToABook() throws {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let pages = try Book.all.flatMap { try $0.pages(in: package) }.map(\.standardizedFileURL.path)
        #expect(Set(pages).count == pages.count)
        for folder in ["", "Documentation", "Examples", "Packaging", "Sources"] {
            let root = package.appending(path: folder)
            let paths =
                folder.isEmpty
                ? try FileManager.default.contentsOfDirectory(atPath: root.path)
                : FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
            for path in paths where path.hasSuffix(".md") && !path.contains(".build/") {
                let page = root.appending(path: path).standardizedFileURL
                let swift = try Page(String(contentsOf: page, encoding: .utf8)).pieces
                #expect(swift.isEmpty || pages.contains(page.path), "\(page.path):\(swift.first?.firstLine ?? 0)")
            }
        }
    }
}
