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

    @Test func quotesCellsThatNeedIt() {
        #expect(CommaSeparatedValues.line(["a", "b,c", "d\"e", "f\ng", ""]) == "a,\"b,c\",\"d\"\"e\",\"f\ng\",\r\n")
    }
}
