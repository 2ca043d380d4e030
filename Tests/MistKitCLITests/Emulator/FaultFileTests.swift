import CloudKitEmulatorServer
import CloudKitModel
import Testing

@testable import MistKitCLI

struct FaultFileTests {
    private func rules(_ text: String) throws(CommandError) -> [FaultRule] {
        try FaultFile(Array(text.utf8), of: "faults.json").rules
    }

    @Test(arguments: [
        (#"{"fault":"loseReply"}"#, "lost reply"),
        (#"{"fault":"throttle","retryAfter":3}"#, "429 THROTTLED, retryAfter 3.0"),
        (#"{"fault":"refuse","code":"ZONE_BUSY","status":409}"#, "409 ZONE_BUSY"),
        (#"{"fault":"refuseItems","code":"INTERNAL_ERROR","records":["b","a"]}"#, "INTERNAL_ERROR for a, b"),
        (#"{"fault":"undeliveredRecords"}"#, "INTERNAL_ERROR in place of all records"),
        (#"{"fault":"hang","seconds":2.5}"#, "no reply for 2.5 seconds"),
        (#"{"fault":"truncateReply","bytes":5}"#, "JSON cut after 5 bytes"),
        (#"{"fault":"clockSkew","seconds":-60}"#, "clock off by -60.0 s"),
    ])
    func faultsAreNamedWithTheirOptions(_ text: String, description: String) throws {
        let rule = try #require(try rules("[\(text)]").first)
        #expect(rule.fault.description == description)
        #expect(rule.calls.description == "1")
    }

    @Test func rulesNameTheirRequests() throws {
        let rules = try rules(
            """
            [{"fault":"loseRequest","on":"records/modify","in":"private","calls":{"first":2}},
             {"fault":"loseReply","calls":"all"}, {"fault":"loseReply","calls":{"every":3}}]
            """
        )
        #expect(rules.map(\.endpoint) == ["records/modify", nil, nil])
        #expect(rules.map(\.database) == [.private, nil, nil])
        #expect(rules.map(\.calls) == [.first(2), .all, .every(3)])
    }

    @Test(arguments: [
        ("{}", "faults.json is not an array of rules in JSON"),
        ("[1]", "Rule 1 of faults.json is no object."),
        (#"[{"fault":"loseReply"},{}]"#, "Rule 2 of faults.json has no \"fault\"."),
        (#"[{"fault":"trottle"}]"#, "Rule 1 of faults.json has no known fault: \"trottle\"."),
        (
            #"[{"fault":"loseReply","oon":"x"}]"#,
            "has the key \"oon\"; a rule of loseReply has fault, on, in, by, calls, probability, seed."
        ),
        (#"[{"fault":"refuse"}]"#, "has no \"code\", such as INTERNAL_ERROR."),
        (#"[{"fault":"refuse","code":"A","status":200}]"#, "which is not a whole number from 400 to 599."),
        (#"[{"fault":"loseReply","in":"own"}]"#, "has the database \"own\"; there are public, private and shared."),
        (#"[{"fault":"loseReply","calls":{"first":0}}]"#, "has \"first\", which is not a whole number from 1."),
        (#"[{"fault":"loseReply","calls":{"last":1}}]"#, "has \"calls\" that are neither \"all\" nor an object"),
        (#"[{"fault":"hang","seconds":"2"}]"#, "has \"seconds\", which is not a number."),
    ])
    func mistakesAreNamed(_ text: String, message: String) throws {
        let error = try #require(throws: CommandError.self) { try rules(text) }
        #expect(error.message.contains(message), "\(error.message)")
    }
}
