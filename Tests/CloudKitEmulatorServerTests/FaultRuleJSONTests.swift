import CloudKitModel
import StreamingJSON
import Testing

@testable import CloudKitEmulatorServer

/// Fault rules written as JSON and read again.
struct FaultRuleJSONTests {
    private static let rules = [
        FaultRule(.loseRequest),
        FaultRule(.loseReply, on: "records/modify", in: .private, calls: .first(2)),
        FaultRule(.resetReply(afterBytes: 0), calls: .only(3)),
        FaultRule(.hang(for: .milliseconds(1500)), calls: .from(2)),
        FaultRule(.throttle(retryAfter: 2.5, header: "3"), calls: .every(4)),
        FaultRule(.throttle(), calls: .all),
        FaultRule(.refuse("ZONE_BUSY", status: 409, reason: "busy", retryAfter: 1)),
        FaultRule(.refuseItems(.internalError, named: ["b", "a"], reason: "no", retryAfter: 1)),
        FaultRule(.refuseItems(.internalError)),
        FaultRule(.undeliveredRecords(named: ["a"], code: .accessDenied)),
        FaultRule(.expiredToken),
        FaultRule(.misdirected),
        FaultRule(.htmlPage(status: 200)),
        FaultRule(.emptyReply(status: 502, header: "1")),
        FaultRule(.invalidJSON),
        FaultRule(.truncateReply(afterBytes: 7)),
        FaultRule(.contentType("text/plain")),
        FaultRule(.slowReply(chunkSize: 3, pause: .seconds(2))),
        FaultRule(.delay(.seconds(2))),
        FaultRule(.clockSkew(seconds: -60)),
        FaultRule(.loseReply, by: .nobody, probability: 0.25, seed: 7),
        FaultRule(.loseReply, by: .user("_1"), probability: 0),
    ]

    @Test(arguments: rules.indices)
    func aRuleIsReadAsItWasWritten(_ index: Int) throws {
        let rule = Self.rules[index]
        let bytes = try JSONWriter.bytes(of: [rule.json])
        let values = try JSONReader.read([JSONValue].self, from: bytes)
        let read = try #require(try FaultRule.rules(from: values).first)
        #expect(read.fault.description == rule.fault.description)
        #expect(read.endpoint == rule.endpoint && read.database == rule.database && read.calls == rule.calls)
        #expect(read.identity == rule.identity && read.probability == rule.probability && read.seed == rule.seed)
        #expect(read.json == rule.json)
    }

    @Test func everyFaultIsAmongTheRulesAbove() {
        let written = Set(Self.rules.compactMap { $0.json["fault"]?.stringValue })
        // These are refusals with a code.
        #expect(written.union(["throttle", "expiredToken"]) == Set(FaultRule.faultNames))
    }
}
