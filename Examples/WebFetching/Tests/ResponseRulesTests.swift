import Foundation
import Testing
import WebFetching

struct ResponseRulesTests {
    private func verdict(
        _ status: Int,
        _ location: String? = nil,
        at address: String = "https://a.example/feed",
        after visited: [String] = []
    ) throws -> ResponseRules.Verdict {
        ResponseRules.verdict(
            status: status,
            location: location,
            at: try #require(WebAddress(address)),
            after: visited.compactMap { WebAddress("https://a.example" + $0) },
            limit: 5
        )
    }

    @Test func statusesHaveMeanings() throws {
        #expect(try verdict(200) == .document)
        #expect(try verdict(304) == .notModified)
        for (status, isPermanent) in [(301, true), (302, false), (303, false), (307, false), (308, true)] {
            let target = try #require(WebAddress("https://a.example/new"))
            #expect(try verdict(status, "/new") == .redirect(target, isPermanent: isPermanent))
        }
    }

    @Test(
        arguments: [
            (410, nil, [], FetchFailure.Code.gone), (404, nil, [], .status), (500, nil, [], .status),
            (300, "/new", [], .status), (301, nil, [], .invalidRedirect), (301, "ftp://a/", [], .invalidRedirect),
            (301, "http://a.example/", [], .invalidRedirect), (301, "/feed", [], .redirectLoop),
            (302, "/#top", ["/"], .redirectLoop),
            (302, "/6", ["/1", "/2", "/3", "/4", "/5"], .tooManyRedirects),
        ] as [(Int, String?, [String], FetchFailure.Code)]
    )
    func failuresHaveCodes(status: Int, location: String?, visited: [String], code: FetchFailure.Code) throws {
        guard case .failure(let failure) = try verdict(status, location, after: visited) else {
            Issue.record("The response should be a failure.")
            return
        }
        #expect(failure.code == code)
        #expect(failure.status == status)
    }

    @Test func retryAfterIsANumberOrADate() {
        let now = Date(timeIntervalSince1970: 1_767_261_600)
        #expect(ResponseRules.retryAfter("120", now: now) == 120)
        #expect(ResponseRules.retryAfter(" 0 ", now: now) == 0)
        #expect(ResponseRules.retryAfter("Thu, 01 Jan 2026 10:01:00 GMT", now: now) == 60)
        #expect(ResponseRules.retryAfter("Thu, 01 Jan 2026 09:00:00 GMT", now: now) == 0)
        #expect(ResponseRules.retryAfter("soon", now: now) == nil)
        #expect(ResponseRules.retryAfter("-5", now: now) == nil)
        #expect(ResponseRules.retryAfter("", now: now) == nil)
        #expect(ResponseRules.retryAfter(nil, now: now) == nil)
    }
}
