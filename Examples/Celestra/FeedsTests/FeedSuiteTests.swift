import CelestraFeeds
import Testing

/// Reads the feeds of the suite and checks their expectations.
@Suite(.enabled(if: !FeedSuite.cases.isEmpty, Comment(rawValue: FeedSuite.isMissing)))
struct FeedSuiteTests {
    @Test func expectationsHoldUnlessAReasonIsListed() throws {
        var held: [String: Int] = [:]
        var total: [String: Int] = [:]
        var skipped: [String: Int] = [:]
        var failures: [(path: String, subject: String, text: String)] = []
        for feed in FeedSuite.cases {
            guard let text = feed.expectation else { continue }
            let expression = try ExpressionParser.parse(text)
            switch SuiteSubject.of(expression, path: feed.path) {
            case .outside(let subject):
                skipped[subject, default: 0] += 1
            case .inside(let subject):
                total[subject, default: 0] += 1
                let parsed = try? FeedParser.parse(feed.bytes, contentType: feed.contentType, address: feed.address)
                do throws(Expression.Failure) {
                    if try expression.evaluate(FeedView.names(of: parsed)).isTrue {
                        held[subject, default: 0] += 1
                    } else {
                        failures.append((feed.path, subject, text))
                    }
                } catch {
                    failures.append((feed.path, subject, "\(text) (\(error.message))"))
                }
            }
        }
        let figures = total.sorted { $0.key < $1.key }.map { "\($0.key) \(held[$0.key] ?? 0)/\($0.value)" }
        print("feeds: expectations held by subject: \(figures.joined(separator: ", "))")
        let others = skipped.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        print("feeds: expectations about other subjects, not judged: \(others.joined(separator: ", "))")

        let listed = SuiteExceptions.reasons
        for failure in failures where listed[failure.path] == nil {
            Issue.record("\(failure.path) (\(failure.subject)): \(failure.text)")
        }
        let failed = Set(failures.map(\.path))
        for (path, reason) in listed.sorted(by: { $0.key < $1.key }) where !failed.contains(path) {
            Issue.record("\(path) is listed as an exception (\(reason)), but its expectation holds or is not there")
        }
        let heldCount = held.values.reduce(0, +)
        let totalCount = total.values.reduce(0, +)
        #expect(totalCount > 550)
        #expect(heldCount * 100 >= totalCount * 95, "\(heldCount) of \(totalCount) expectations hold")
    }

    @Test func wellFormedFeedsAreNotRepaired() throws {
        var count = 0
        for feed in FeedSuite.cases where feed.path.hasPrefix("wellformed/") && !feed.path.contains("/cdf_") {
            guard feed.expectation?.hasPrefix("not bozo") == true else { continue }
            let parsed = try FeedParser.parse(feed.bytes, contentType: feed.contentType, address: feed.address)
            #expect(parsed.problems == [], "\(feed.path)")
            count += 1
        }
        #expect(count > 700)
    }

    @Test func illFormedFeedsSayWhatWasRepaired() throws {
        for feed in FeedSuite.cases where feed.expectation?.hasPrefix("bozo") == true {
            do {
                let parsed = try FeedParser.parse(feed.bytes, contentType: feed.contentType, address: feed.address)
                #expect(parsed.problems.isEmpty == (SuiteExceptions.unreported[feed.path] != nil), "\(feed.path)")
            } catch let error as FeedError {
                #expect([.empty, .notAFeed].contains(error.code), "\(feed.path): \(error)")
            }
        }
    }
}

/// The subject of an expectation.
enum SuiteSubject {
    /// A subject that this library reads.
    case inside(String)
    /// A subject that it does not read.
    case outside(String)

    static func of(_ expression: Expression, path: String) -> SuiteSubject {
        if path.contains("/cdf_") { return .outside("Channel Definition Format") }
        guard let keys = expression.paths.first(where: { $0 != ["bozo"] }), let key = keys.first else {
            return .outside("well-formedness")
        }
        if key == "encoding" || path.hasPrefix("encoding/"), key != "bozo_exception" { return .inside("encodings") }
        if key == "image", keys.count > 1, !["href", "url"].contains(keys[1]) { return .outside("details of images") }
        if key == "content", keys.last == "src" { return .outside("content elsewhere") }
        if key.hasPrefix("itunes_") { return .outside("flags of iTunes") }
        if key == "subtitle", path.contains("itunes_item") { return .outside("subtitles of items") }
        if let subject = insideSubjects[key] { return .inside(subject) }
        return .outside(outsideSubjects[key] ?? key)
    }

    private static let insideSubjects = [
        "title": "titles", "title_detail": "titles",
        "link": "links", "links": "links", "enclosures": "links", "image": "links",
        "id": "identifiers", "guid": "identifiers", "guidislink": "identifiers",
        "published": "dates", "published_parsed": "dates", "updated": "dates", "updated_parsed": "dates",
        "author": "authors", "author_detail": "authors", "authors": "authors",
        "summary": "summaries", "summary_detail": "summaries", "description": "summaries", "subtitle": "summaries",
        "subtitle_detail": "summaries", "tagline": "summaries", "tagline_detail": "summaries", "info": "summaries",
        "info_detail": "summaries",
        "content": "content", "category": "categories", "tags": "categories", "version": "formats", "ttl": "formats",
    ]

    private static let outsideSubjects = [
        "copyright": "rights", "copyright_detail": "rights", "rights": "rights", "rights_detail": "rights",
        "license": "rights",
        "publisher": "publishers", "publisher_detail": "publishers", "contributors": "contributors",
        "source": "sources of entries",
        "generator": "generators", "generator_detail": "generators", "icon": "second images", "logo": "second images",
        "created": "other dates", "created_parsed": "other dates", "expired": "other dates",
        "expired_parsed": "other dates",
        "validity_start": "other dates", "validity_start_parsed": "other dates", "validity_end": "other dates",
        "validity_end_parsed": "other dates",
        "cloud": "elements of old RSS", "docs": "elements of old RSS", "textinput": "elements of old RSS",
        "newlocation": "elements of old RSS", "comments": "comments", "wfw_comment": "comments",
        "wfw_commentrss": "comments",
        "thr_in-reply-to": "comments", "where": "places", "madeup_element": "unknown elements",
        "bozo_exception": "well-formedness",
    ]
}
