import CloudKitModel
import StreamingJSON
import Testing

/// The generated types lose nothing of the service's JSON.
struct GeneratedNounTests {
    private func text(_ value: some JSONWritable) throws -> String {
        String(decoding: try JSONWriter.bytes(of: value), as: UTF8.self)
    }

    @Test(arguments: [
        #"{"zoneID":{"zoneName":"Notes"},"syncToken":null,"atomic":true,"deleted":null,"x":[1]}"#,
        #"{"zoneID":{"zoneName":null,"zoneType":"NEW"}}"#,
    ])
    func zones(json: String) throws {
        #expect(try text(try expectRoundTrip(Zone.self, json)) == json)
    }

    @Test func zonesNeedAName() {
        #expect(throws: JSONError.self) { try JSONReader.read(Zone.self, from: #"{"atomic":true}"#) }
        #expect(throws: JSONError.self) { try JSONReader.read(Zone.self, from: #"{"zoneID":{},"atomic":"yes"}"#) }
    }

    @Test func aZoneThatIsDeletedSaysSo() throws {
        var zone = Zone(zoneID: ZoneID(zoneName: "Notes"))
        #expect(!zone.isDeleted)
        zone.isDeleted = true
        #expect(zone == Zone(zoneID: ZoneID(zoneName: "Notes"), deleted: true))
        #expect(try text(zone) == #"{"zoneID":{"zoneName":"Notes"},"deleted":true}"#)
    }

    @Test(arguments: [
        (#"{"zoneID":{"zoneName":"A"},"serverErrorCode":"ZONE_NOT_FOUND","x":1}"#, true),
        (#"{"zoneID":{"zoneName":"A"},"extensionErrorCode":"OWN"}"#, true),
        (#"{"zoneID":{"zoneName":"A"},"serverErrorCode":null}"#, false),
        (#"{"zoneID":{"zoneName":"A"},"x":{"serverErrorCode":"CONFLICT"}}"#, false),
    ])
    func itemsAreErrorsByTheirCode(json: String, isError: Bool) throws {
        let result = try expectRoundTrip(ZoneResult.self, json)
        if case .failure = result { #expect(isError) } else { #expect(!isError) }
    }

    @Test func namesMayBeSpokenInAnyForm() throws {
        let spoken = #"{"givenName":"Ann","phoneticRepresentation":{"givenName":"An"}}"#
        let name = try expectRoundTrip(NameComponents.self, spoken)
        #expect(name == NameComponents(givenName: "Ann", phoneticRepresentation: NameComponents(givenName: "An")))
        let plain = #"{"givenName":"Ann","phoneticRepresentation":"An"}"#
        #expect(try expectRoundTrip(NameComponents.self, plain).phoneticRepresentation == nil)
    }

    @Test func participantsHaveTheKeyMaterialOfTheShare() throws {
        let material = #""protectionInfo":{"bytes":"AQ==","x":1},"orgUser":false"#
        let json = #"{"participantId":"p","permission":"OWN",\#(material),"y":null}"#
        let participant = try expectRoundTrip(Participant.self, json)
        #expect(participant.participantID == "p")
        #expect(participant.permission == "OWN")
        #expect(participant.protectionInfo?.bytes == "AQ==")
        #expect(participant.otherKeys.map(\.name) == ["y"])
    }

    @Test(arguments: [
        #"{"aps":{"alert":"words","badge":"many","content-available":1,"x":0},"ck":{"ce":2,"p":1,"qry":{"fo":"1","af":{"a":null}}}}"#,
        #"{"aps":7,"ck":[],"x":true}"#,
    ])
    func pushesKeepValuesOfOtherKinds(json: String) throws {
        var json = json
        let push = try JSONReader.read(PushPayload.self, from: json)
        if let alert = push.presentation?.alert {
            // A plain text is the body of the alert.
            #expect(alert == PushPayload.Alert(body: "words"))
            json = json.replacing(#""words""#, with: #"{"body":"words"}"#)
            #expect(push.content?.isPruned == true)
            #expect(push.content?.query?.reason == nil)
            #expect(push.content?.query?.fields == ["a": nil])
        }
        #expect(try JSONRawValue(push) == JSONRawValue(parsing: json))
    }

    @Test func enumerationsKeepValuesOfLater() throws {
        let json = #"{"subscriptionID":"s","subscriptionType":"moon","firesOn":["create","rise"]}"#
        let subscription = try expectRoundTrip(Subscription.self, json)
        #expect(subscription.subscriptionType == "moon")
        #expect(subscription.firesOn == [.create, "rise"])
        #expect(ServerErrorCode.allCases.count == 16)
        #expect(FieldType.allCases.contains(.assetList))
        #expect(DatabaseScope.allCases.map(\.rawValue) == ["public", "private", "shared"])
    }
}
