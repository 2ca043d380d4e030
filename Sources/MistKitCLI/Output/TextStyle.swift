/// How text for a terminal is set off: by the sequences of ECMA-48, "select graphic rendition", or not at all.
struct TextStyle: Hashable, Sendable {
    /// Text without any sequence, for files and other programs.
    static let plain = TextStyle(isEnabled: false)

    private let isEnabled: Bool

    /// The style for a stream.
    ///
    /// - Parameters:
    ///   - isTerminal: Whether people see the stream as it is written.
    ///   - environment: The variables of the process. `NO_COLOR` with any text (no-color.org) switches the sequences
    ///     off, as does a `TERM` that is missing, empty or `dumb`.
    init(isTerminal: Bool, environment: [String: String]) {
        let terminal = environment["TERM"] ?? ""
        let isRefused = environment["NO_COLOR"].map { !$0.isEmpty } ?? false
        self.init(isEnabled: isTerminal && !isRefused && !terminal.isEmpty && terminal != "dumb")
    }

    private init(isEnabled: Bool) {
        self.isEnabled = isEnabled
    }

    /// Text that stands out, such as the titles of a table.
    func bold(_ text: String) -> String { set(text, begin: 1, end: 22) }

    /// Text that stays behind the rest, such as the details of an error.
    func grey(_ text: String) -> String { set(text, begin: 90, end: 39) }

    private func set(_ text: String, begin: Int, end: Int) -> String {
        isEnabled && !text.isEmpty ? "\u{1B}[\(begin)m\(text)\u{1B}[\(end)m" : text
    }
}
