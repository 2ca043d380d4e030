import WebText

/// A text as a feed gives it: plain, or with markup.
public struct RichText: Sendable, Hashable {
    /// How ``RichText/source`` is written.
    public enum Format: String, Sendable, Hashable {
        /// Plain text: `<` is a less-than sign.
        case plain = "text/plain"
        /// HTML, well-formed or not.
        case html = "text/html"
        /// A well-formed fragment of XHTML.
        case xhtml = "application/xhtml+xml"
    }

    /// The text in the format of ``RichText/format``. Relative links within it are resolved. It is not sanitised:
    /// remove scripts before you show it.
    public let source: String

    /// How the source is written.
    public let format: Format

    /// Creates a text from its source.
    public init(_ source: String, format: Format) {
        self.source = source
        self.format = format
    }

    /// The text as HTML. Plain text is escaped.
    public var html: String {
        switch format {
        case .plain: HTMLText.escaped(source)
        case .html, .xhtml: source
        }
    }

    /// The text without markup: tags removed, references replaced, white space collapsed, a line break for each block.
    public var plainText: String {
        switch format {
        case .plain: HTMLText.collapsed(source)
        case .html, .xhtml: HTMLText.plainText(of: source)
        }
    }
}
