import WebText

/// A feed that was read, and what was wrong with it.
public struct ParsedFeed: Sendable, Hashable {
    /// The feed.
    public var feed: Feed
    /// The encoding of the response, in lower case, for instance `utf-8`.
    public var encoding: String
    /// The mistakes of the document and what was done about them, one entry for each kind. Empty if the document is
    /// well-formed.
    public var problems: [FeedProblem]
}

/// Reads feeds: RSS 0.90 to 2.0, Atom 0.3 and 1.0, JSON Feed 1.0 and 1.1.
public enum FeedParser {
    /// Reads the body of a response.
    ///
    /// The text is decoded, and parsed as JSON or XML. XML that is not well-formed is repaired and parsed again; the
    /// problems of the result say what was repaired.
    ///
    /// ```swift
    /// let parsed = try FeedParser.parse(bytes, contentType: "application/rss+xml", address: "https://example.com/feed")
    /// for item in parsed.feed.items { … }
    /// ```
    ///
    /// - Parameters:
    ///   - bytes: The body, without a transfer or content coding.
    ///   - contentType: The header field Content-Type, or `nil` if the response has none.
    ///   - address: The address of the response, which relative links refer to: the header field Content-Location,
    ///     or the URL of the last request.
    /// - Returns: The feed, and what was repaired in it.
    /// - Throws: ``FeedError`` if the response is not a feed.
    public static func parse(
        _ bytes: some Sequence<UInt8>,
        contentType: String? = nil,
        address: String? = nil
    ) throws -> ParsedFeed {
        var problems = ProblemLog()
        let response = ResponseText(Array(bytes), mediaType: MediaType(contentType), problems: &problems)
        let start = response.text.drop { $0.isWhitespace || $0 == "\0" || $0 == "\u{FEFF}" }
        guard let first = start.first else { throw FeedError(.empty, "The response is empty.") }
        let feed =
            if first == "{" || first == "[" {
                try JSONFeedReader.feed(of: String(start), base: address, problems: &problems)
            } else {
                try feed(inXML: response.text, address: address, problems: &problems)
            }
        return ParsedFeed(feed: feed, encoding: response.encoding, problems: problems.problems)
    }

    private static func feed(
        inXML text: String,
        address: String?,
        problems: inout ProblemLog
    ) throws(FeedError) -> Feed {
        let prolog = XMLProlog(text)
        let document: FeedDocument
        do throws(FeedDocument.Failure) {
            if let line = prolog.declarationLine {
                throw FeedDocument.Failure(
                    message: "not well-formed XML (a declaration is misplaced or not closed)",
                    line: line
                )
            }
            document = try FeedDocument(parsing: prolog.body, base: address, problems: &problems)
        } catch {
            document = try repairedDocument(prolog.body, after: error, address: address, problems: &problems)
        }
        return try FeedReader.feed(of: document, problems: &problems)
    }

    private static func repairedDocument(
        _ body: String,
        after failure: FeedDocument.Failure,
        address: String?,
        problems: inout ProblemLog
    ) throws(FeedError) -> FeedDocument {
        let before = problems.problems
        let repaired = XMLRepair.repaired(body, problems: &problems)
        // Some repairs report no problem, such as an end tag in another case. Then the parser's message is the problem.
        if problems.problems == before { problems.add(.malformedTag, line: failure.line, failure.message) }
        do throws(FeedDocument.Failure) {
            return try FeedDocument(parsing: repaired, base: address, problems: &problems)
        } catch {
            guard repaired.contains("<") else {
                let start = HTMLText.collapsed(String(body.prefix(200))).prefix(40)
                throw FeedError(.notAFeed, "Text without a tag is not a feed. It begins with \"\(start)\".")
            }
            throw FeedError(
                .malformedXML,
                "The response is \(failure.message).",
                line: failure.line,
                column: failure.column
            )
        }
    }
}
