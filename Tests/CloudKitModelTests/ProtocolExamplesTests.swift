import CloudKitModel
import StreamingJSON
import Testing

/// Examples of requests and responses from the protocol's pages and from recordings. Each is read and written again.
struct ProtocolExamplesTests {
    @Test(arguments: [
        #"{"uuid":"4f02f7aa","serverErrorCode":"AUTHENTICATION_REQUIRED","reason":"request needs authorization","redirectURL":"https://idmsa.apple.com/IDMSWebAuth/auth?oauth_token=..."}"#,
        #"{"uuid":"173179e2-c5a5-4393-ab4f-3cec194edd1c","serverErrorCode":"AUTHENTICATION_FAILED","reason":"Authentication failed"}"#,
        #"{"uuid":"1","serverErrorCode":"THROTTLED","retryAfter":30,"redirectUrl":"https://a","serverErrorMessage":"slow"}"#,
    ])
    func errorResponses(json: String) throws {
        let error = try expectRoundTrip(ErrorResponse.self, json)
        #expect(error.serverErrorCode != .unknownError)
        #expect(error.reason != nil)
    }

    @Test(arguments: [
        #"{"operationType": "update", "record": {"fields": {"isDeleted": {"value": 1}}, "recordChangeTag": "1s2g", "recordName": "A5A7C0F1-BE37-46D8-9A99-400AD6DC2351", "recordType": "CPLAsset"}}"#,
        #"{"operationType":"create","record":{"recordType":"Artist","fields":{"firstName":{"value":"Mei"},"lastName":{"value":"Chen"}},"recordName":"Mei Chen"}}"#,
        #"{"operationType":"update","record":{"fields":{"width":{"value":18},"height":{"value":24}},"recordName":"101","recordChangeTag":"e"}}"#,
        #"{"operationType":"create","record":{"recordType":"Artist","fields":{"image":{"value":{"fileChecksum":"c","receipt":"r","size":5}}},"recordName":"4c016e24","desiredKeys":[]}}"#,
        #"{"operationType":"create","record":{"recordType":"cloudkit.share","fields":{},"forRecord":{"recordName":"RecordA","recordChangeTag":"2"},"publicPermission":"NONE","participants":[{"type":"USER","permission":"READ_WRITE","acceptanceStatus":"INVITED","userIdentity":{"lookupInfo":{"emailAddress":"guest@example.com"}}}]}}"#,
        #"{"operationType":"forceDelete","record":{"recordName":"A"},"desiredKeys":["a"],"numbersAsStrings":true}"#,
        #"{"operationType":"create","record":{"recordType":"Note","fields":{"secret":{"value":"x","type":"STRING","isEncrypted":true}}}}"#,
    ])
    func recordOperations(json: String) throws {
        try expectRoundTrip(RecordOperation.self, json)
    }

    @Test(arguments: [
        #"{"recordName":"A5A7","recordType":"CPLAsset","fields":{"isDeleted":{"value":1,"type":"INT64"}},"pluginFields":{},"recordChangeTag":"1s2k","created":{"timestamp":1686106171024,"userRecordName":"_cfcd","deviceID":"10D2"},"modified":{"timestamp":1686106458410,"userRecordName":"_cfcd","deviceID":"2"},"deleted":false,"expirationTime":1689562458}"#,
        #"{"recordName":"_ac333066","recordType":"CheckIndexingState","fields":{"progress":{"value":100,"type":"INT64"},"state":{"value":"FINISHED","type":"STRING"}},"pluginFields":{},"recordChangeTag":"0","created":{"timestamp":1533040623320,"userRecordName":"_10","deviceID":"1"},"modified":{"timestamp":1533040623320,"userRecordName":"_10","deviceID":"1"},"deleted":false,"zoneID":{"zoneName":"PrimarySync","ownerRecordName":"_bfc6"}}"#,
        #"{"fields":{"filenameEnc":{"value":"SU1HXzc0MDkuSlBH","type":"ENCRYPTED_BYTES"},"assetDate":{"value":1533021744816,"type":"TIMESTAMP"},"masterRef":{"value":{"recordName":"AY6c+BsE0jjaXx9tmVGJM1D2VcEO","action":"DELETE_SELF","zoneID":{"zoneName":"PrimarySync","ownerRecordName":"_bfc6"}},"type":"REFERENCE"},"resOriginalRes":{"value":{"fileChecksum":"AY6c","size":1884695,"wrappingKey":"Aj375aJi6sEmqgJPj64+7Q==","referenceChecksum":"AfUM","downloadURL":"https://cvws.icloud-content.com/B/AY6c/${f}?o=...&v=1"},"type":"ASSETID"}}}"#,
        #"{"recordName":"ABC123","recordType":"CPLAsset","fields":{},"recordChangeTag":"tag_abc"}"#,
        #"{"recordName":"DEF456","recordType":null,"deleted":true,"recordChangeTag":"tag_def"}"#,
        #"{"recordName":"Share-C1FB","recordType":"cloudkit.share","fields":{"cloudkit.title":{"value":"Centre","type":"STRING"}},"recordChangeTag":"e","created":{"timestamp":1476619372869,"userRecordName":"_8e1c","deviceID":"1"},"publicPermission":"READ_WRITE","participants":[{"userIdentity":{"userRecordName":"_8e1c","nameComponents":{"givenName":"Ann","familyName":"Example"},"lookupInfo":{"emailAddress":"ann@example.com"}},"type":"OWNER","acceptanceStatus":"ACCEPTED","permission":"READ_WRITE","participantId":"1","orgUser":false,"publicKeyVersion":1,"outOfNetworkPrivateKey":"","outOfNetworkKeyType":0,"protectionInfo":{"bytes":"","pcsChangeTag":""}}],"owner":{"type":"OWNER"},"currentUserParticipant":{"type":"OWNER"},"shortGUID":"0NEa3AEPXwK71VM4gHFnvh2kw","invitedPCS":{},"selfAddedPCS":{},"shortTokenHash":"x"}"#,
        #"{"recordName":"D06A","recordType":"Centre","fields":{"name":{"value":"My centre","type":"STRING"},"n":{"value":7,"type":"NUMBER_INT64"},"b":{"value":"AA==","type":"BYTES"}},"recordChangeTag":"d","share":{"recordName":"Share-C1FB","zoneID":{"zoneName":"Central","zoneType":"REGULAR_CUSTOM_ZONE"}},"shortGUID":"0NEa","stableUrl":{"routingKey":"02a"},"displayedHostname":"www.icloud.com","pluginFields":{"br_driveAppContainer":{"value":{"recordName":"r","action":"NONE"},"type":"REFERENCE"}}}"#,
        #"{"recordName":"RestoreImage-24A335","reason":"CREATE operation not permitted","serverErrorCode":"ACCESS_DENIED"}"#,
        #"{"recordName":"E621","serverErrorCode":"NOT_FOUND","reason":"Record not found"}"#,
        #"{"recordName":"A","reason":"client oplock error updating record","serverErrorCode":"CONFLICT"}"#,
        #"{"recordName":"A","deleted":true}"#,
        #"{"fields":{"tags":{"type":"STRING_LIST","value":[]}}}"#,
        #"{"recordName":"ok","serverErrorCode":"ATOMIC_ERROR","reason":"Atomic failure"}"#,
    ])
    func recordResults(json: String) throws {
        let result = try expectRoundTrip(RecordResult.self, json)
        if case .failure = result {
            #expect(json.contains("serverErrorCode"))
        } else {
            #expect(!json.contains("serverErrorCode"))
        }
    }

    @Test(arguments: [
        #"{"shortGUID":{"value":"0NEa3AEPXwK71VM4gHFnvh2kw","shouldFetchRootRecord":true},"containerIdentifier":"iCloud.example.test","environment":"development","databaseScope":"PRIVATE","zoneID":{"zoneName":"Central","ownerRecordName":"_8e1c"},"share":{"recordName":"Share-C1FB","recordType":"cloudkit.share","fields":{"cloudkit.title":{"value":"Centre","type":"STRING"}},"recordChangeTag":"e","publicPermission":"READ_WRITE","participants":[{"type":"OWNER"}],"shortGUID":"0NEa3AEPXwK71VM4gHFnvh2kw"},"rootRecordName":"D06A","rootRecord":{"recordName":"D06A","recordType":"Centre","fields":{"name":{"value":"My centre","type":"STRING"}},"share":{"recordName":"Share-C1FB"}},"participantType":"OWNER","participantStatus":"ACCEPTED","participantPermission":"READ_WRITE","ownerIdentity":{"userRecordName":"_8e1c","nameComponents":{"givenName":"Ann","familyName":"Example"}},"potentialMatchList":[]}"#,
        #"{"shortGUID":{"value":"02aPe3Jgy3COgyPaWfUJPyfFw","rootRecordDesiredKeys":["name"]},"databaseScope":"SHARED","ancestorRecords":[],"webpageURL":"https://a","potentialMatchList":[{"participantId":"p","contactInformation":{"phoneNumber":"+47"}}],"anonymousAccess":{"token":"t"}}"#,
        #"{"shortGUID":{"value":"0no"},"serverErrorCode":"NOT_FOUND","reason":"no such share","retryAfter":3}"#,
    ])
    func shareResults(json: String) throws {
        let result = try expectRoundTrip(ShareResult.self, json)
        if case .failure = result {
            #expect(json.contains("serverErrorCode"))
        } else {
            #expect(!json.contains("serverErrorCode"))
        }
        #expect(result.itemID?.value.hasPrefix("0") == true)
    }

    @Test func aShortGUIDMayBeABareText() throws {
        #expect(try JSONReader.read(ShortGUID.self, from: #""02aP""#) == ShortGUID("02aP"))
        #expect(throws: JSONError.self) { try JSONReader.read(ShortGUID.self, from: "{}") }
    }

    @Test(arguments: [
        #"{"recordType":"CheckIndexingState"}"#,
        #"{"filterBy":[{"fieldName":"startRank","fieldValue":{"type":"INT64","value":0},"comparator":"EQUALS"},{"fieldName":"direction","fieldValue":{"type":"STRING","value":"ASCENDING"},"comparator":"EQUALS"}],"recordType":"CPLAssetAndMasterByAddedDate"}"#,
        #"{"filterBy":{"fieldName":"indexCountID","fieldValue":{"type":"STRING_LIST","value":["CPLAssetByAddedDate"]},"comparator":"IN"},"recordType":"HyperionIndexCountLookup"}"#,
        #"{"recordType":"myRecordType","filterBy":[{"systemFieldName":"createdUserRecordName","comparator":"EQUALS","fieldValue":{"value":{"recordName":"recordA"},"type":"REFERENCE"}}],"sortBy":[{"systemFieldName":"createdTimestamp","ascending":false}]}"#,
        #"{"recordType":"A","filterBy":[{"fieldName":"place","comparator":"NEAR","fieldValue":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"},"distance":5000}],"sortBy":[{"fieldName":"place","relativeLocation":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"},"ascending":true},{"fieldName":"x"}]}"#,
        #"{"recordType":"A","filterBy":[],"sortBy":[]}"#,
        #"{"recordType":"A","filterBy":[{"fieldName":"a","comparator":"CONTAINS_ANY","fieldValue":{"value":1}}]}"#,
    ])
    func queries(json: String) throws {
        try expectRoundTrip(RecordQuery.self, json)
    }

    @Test(arguments: [
        #"{"zoneID":{"zoneName":"PrimarySync","ownerRecordName":"_bfc6dbbcc77b03e6cebefd28a28f7e2f","zoneType":"REGULAR_CUSTOM_ZONE"}}"#,
        #"{"zoneID":{"zoneName":"PrimarySync"},"syncToken":"AaBb...","resultsLimit":200}"#,
        #"{"zoneID":{"zoneName":"PrimarySync"},"serverErrorCode":"BAD_REQUEST","reason":"Unknown sync continuation type"}"#,
        #"{"zoneID":{"zoneName":"PrimarySync"},"syncToken":"zone...","deleted":true}"#,
        #"{"zoneID":{"zoneName":"Notes","ownerRecordName":"_a","zoneType":"REGULAR_CUSTOM_ZONE"},"syncToken":"AQAAAA...","atomic":true}"#,
    ])
    func zones(json: String) throws {
        try expectRoundTrip(ZoneResult.self, json)
        try expectRoundTrip(ZoneOperation.self, #"{"operationType":"create","zone":\#(json)}"#)
    }

    @Test(arguments: [
        #"{"subscriptionID":"changedArtwork"}"#,
        #"{"subscriptionID":"second","serverErrorCode":"INTERNAL_ERROR","reason":"could not find subscription we just created"}"#,
        #"{"subscriptionType":"zone","subscriptionID":"changedArtwork","zoneID":{"zoneName":"publicArtwork"}}"#,
        #"{"subscriptionType":"query","firesOn":["create","update","delete"],"query":{"recordType":"Artwork","filterBy":[{"fieldName":"artist","comparator":"EQUALS","fieldValue":{"value":{"action":"NONE","recordName":"Mei Chen"}}}]},"firesOnce":false,"zoneWide":true,"notificationInfo":{"alertBody":"a","alertLocalizationArgs":["title"],"shouldBadge":true,"additionalFields":["title"],"category":"new"}}"#,
    ])
    func subscriptions(json: String) throws {
        try expectRoundTrip(SubscriptionResult.self, json)
        try expectRoundTrip(SubscriptionOperation.self, #"{"operationType":"create","subscription":\#(json)}"#)
    }

    @Test(arguments: [
        #"{"ck":{"ce":2,"cid":"iCloud.meadowvaleApp","nid":"19afdb06-72cc-4286-85ee-b6b837353928","qry":{"dbs":2,"zid":"_defaultZone","zoid":"_defaultOwner","rid":"93B69669-AF9B-4400-AE69-290A12083C5A","sid":"0FE54158-6974-4CFF-ACF5-1A06557337BA","fo":1,"af":{"title":"November 28 (3)","count":3,"ratio":0.5,"none":null}}}}"#,
        #"{"aps":{"content-available":1,"alert":{"body":"New","loc-key":"k","loc-args":["a"],"action-loc-key":"b","launch-image":"i","title":"t"},"badge":2,"sound":"s","category":"c"},"ck":{"ce":2,"cid":"c","ckuserid":"_a","p":1,"fet":{"dbs":3,"zid":"Notes","zoid":"_b","sid":"s"}}}"#,
        #"{"ck":{"met":{"dbs":2,"sid":"s"},"new":{}},"other":[]}"#,
        #"{"aps":{"badge":"many"},"ck":{"cid":1,"qry":{"fo":"created","sid":"s"}}}"#,
    ])
    func pushes(json: String) throws {
        try expectRoundTrip(PushPayload.self, json)
    }

    @Test func partsOfAPushHaveNames() throws {
        let push = try JSONReader.read(
            PushPayload.self,
            from: #"{"aps":{"alert":"New"},"ck":{"p":1,"qry":{"dbs":1,"sid":"s","rid":"r","fo":3,"af":{"title":"x"}}}}"#
        )
        #expect(push.presentation?.alert?.body == "New")
        #expect(push.content?.isPruned == true)
        #expect(push.content?.query?.databaseNumber == 1)
        #expect(push.content?.query?.fields == ["title": "x"])
        var content = PushPayload.Content(version: 2, zone: PushPayload.Change(subscriptionID: "s"))
        #expect(!content.isPruned)
        content.isPruned = true
        #expect(
            String(decoding: try JSONWriter.bytes(of: content), as: UTF8.self)
                == #"{"ce":2,"fet":{"sid":"s"},"p":1}"#
        )
    }

    @Test(arguments: [
        #"{"userRecordName":"_bfc6dbbcc77b03e6cebefd28a28f7e2f"}"#,
        #"{"userRecordName":"_8e1c","nameComponents":{"namePrefix":"Dr.","givenName":"Ann","middleName":"B","familyName":"Example","nameSuffix":"Jr.","nickname":"A","phoneticRepresentation":{"givenName":"En"}},"lookupInfo":{"emailAddress":"ann@example.com"}}"#,
        #"{"userRecordName":"_8","firstName":"A","lastName":"B","nameComponents":{"phoneticRepresentation":"En"}}"#,
        #"{"lookupInfo":{"phoneNumber":"+4712345678"}}"#,
    ])
    func identities(json: String) throws {
        try expectRoundTrip(UserIdentity.self, json)
    }

    @Test func everyComparatorOfTheDocumentIsKnown() {
        #expect(Set(QueryFilter.Comparator.Known.allCases.map { .init($0) }) == Set(QueryFilter.Comparator.allCases))
    }

    @Test func aComparatorThatBeginsWithNotNegates() {
        for comparator in QueryFilter.Comparator.Known.allCases {
            #expect(comparator.isNegated == comparator.rawValue.hasPrefix("NOT_"))
        }
    }

    /// Apple's table "Filter comparators", written by hand.
    @Test func comparatorsFitTheTypesOfApplesTable() {
        let fitting = Dictionary(grouping: QueryFilter.Comparator.Known.allCases) { comparator in
            FieldType.Known.allCases.filter(comparator.fits).map(\.name).joined(separator: " ")
        }
        let single = "STRING INT64 DOUBLE TIMESTAMP BYTES REFERENCE"
        let lists = single.split(separator: " ").map { "\($0)_LIST" }.joined(separator: " ")
        #expect(
            fitting == [
                single: [.equals, .notEquals, .in, .notIn],
                "STRING INT64 DOUBLE TIMESTAMP": [.lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals],
                "STRING": [.containsAllTokens, .containsAnyTokens, .beginsWith, .notBeginsWith],
                "STRING_LIST": [.listMemberBeginsWith, .notListMemberBeginsWith],
                "LOCATION": [.near],
                lists: [
                    .listContains, .notListContains, .listContainsAny, .notListContainsAny, .listContainsAll,
                    .notListContainsAll,
                ],
            ]
        )
    }
}
