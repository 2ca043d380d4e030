import Testing

@testable import MistKitCLI

struct OutputTests {
    @Test func alignsColumnsByWhatTheyShow() {
        var table = TextTable([.init(title: "name"), .init(title: "n", alignment: .right)])
        table.append(["日本", "1"])
        table.append(["tab\tline\nend", "23", "left over"])
        table.append(["short"])
        #expect(
            table.lines(width: nil) == [
                "name           n",
                "------------  --",
                "日本           1",
                "tab line end  23",
                "short",
            ]
        )
    }

    @Test func shortensTheWidestColumnFirst() {
        var table = TextTable([.init(title: "name"), .init(title: "text")])
        table.append(["a", "abcdefghijklmnopqrstuvwxyz"])
        #expect(table.lines(width: 16) == ["name  text", "----  ----------", "a     abcdefghi…"])
    }

    @Test func titlesStandOutOnATerminal() {
        var table = TextTable([.init(title: "name"), .init(title: "n")])
        table.append(["a", "1"])
        let style = TextStyle(isTerminal: true, environment: ["TERM": "xterm"])
        #expect(
            table.lines(width: 80, in: style) == [
                "\u{1B}[1mname  n\u{1B}[22m", "\u{1B}[90m----  -\u{1B}[39m", "a     1",
            ]
        )
    }

    @Test(
        arguments: [
            (true, ["TERM": "xterm"], true), (false, ["TERM": "xterm"], false), (true, ["TERM": "dumb"], false),
            (true, ["TERM": ""], false), (true, [:], false), (true, ["TERM": "xterm", "NO_COLOR": "1"], false),
            (true, ["TERM": "xterm", "NO_COLOR": ""], true),
        ] as [(Bool, [String: String], Bool)]
    )
    func theEnvironmentDecidesAboutColours(_ isTerminal: Bool, _ environment: [String: String], _ isStyled: Bool) {
        let style = TextStyle(isTerminal: isTerminal, environment: environment)
        #expect((style.bold("a") != "a") == isStyled)
        #expect(style.bold("").isEmpty)
    }

    @Test func quotesCellsThatNeedIt() {
        #expect(CommaSeparatedValues.line(["a", "b,c", "d\"e", "f\ng", ""]) == "a,\"b,c\",\"d\"\"e\",\"f\ng\",\r\n")
    }
}
