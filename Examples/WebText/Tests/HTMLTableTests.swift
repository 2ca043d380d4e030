import Testing
import WebText

struct HTMLTableTests {
    private func texts(_ html: String) -> [[String]] { HTMLTable.rows(of: html).map { $0.cells.map(\.text) } }

    @Test(
        arguments: [
            ("<table><tr><td>a</td><td>b</td></tr></table>", [["a", "b"]]),
            ("<TABLE><TR><TH>a<TD>b<TR><TD>c</TABLE>", [["a", "b"], ["c"]]),
            ("<table><tr><td> a\n <b>b</b>&amp;c <br>d</td></tr>", [["a b&c d"]]),
            ("<table><tr><td>a<br>b<p>c</td></tr></table>", [["a b c"]]),
            ("<table><tr></tr><tr><td></td></tr></table>", [[""]]),
            ("<td>a</td><tr><td>b", []),
            ("<table><tr><td>a<script>'<td>'</script></td><!-- <td>x --></tr></table>", [["a"]]),
            ("<table><thead><tr><th>a</th></thead><tbody><tr><td>b</tbody></table>", [["a"], ["b"]]),
            ("</table></tr></td><table><tr><td>a</table></table>", [["a"]]),
            ("<table><tr><td>a<table><tr><td>b</table>c<td>d</table>", [["ac", "d"], ["b"]]),
        ] as [(String, [[String]])]
    )
    func rowsAndCellsAreFound(html: String, expected: [[String]]) {
        #expect(texts(html) == expected)
    }

    @Test func cellsHaveTheirLinksAndPlaces() {
        let html = """
            <table><tr><th>x</th></tr></table>
            <table><tr><td><a href="a.ipsw?x=1&amp;y">one</a> <a name=b>two</a> <a href='c'>three</a></td></tr></table>
            """
        let rows = HTMLTable.rows(of: html)
        #expect(rows.map(\.table) == [0, 1])
        #expect(rows.map(\.number) == [1, 1])
        #expect(rows.map { $0.cells.map(\.isTitle) } == [[true], [false]])
        #expect(rows.last?.cells.first?.links == ["a.ipsw?x=1&y", "c"])
    }
}
