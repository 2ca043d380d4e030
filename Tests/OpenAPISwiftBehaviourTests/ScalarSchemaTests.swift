import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Values without parts: strings, numbers, dates and the like.
struct ScalarSchemaTests {
    @Test func textsOfMostFormatsAreStrings() async throws {
        let specimen = specimen {
            $0.text = "t"
            $0.uuid = "not checked"
            $0.day = "2023-11-14"
            $0.plainByte = "AQID"
            $0.page = "<p>"
        }
        try await expect(
            specimen,
            is: #"{"day":"2023-11-14","page":"<p>","plainByte":"AQID","text":"t","uuid":"not checked"}"#
        )
    }

    @Test func dateTimesAreDates() async throws {
        try await expect(specimen { $0.moment = .november }, is: #"{"moment":"2023-11-14T22:13:20Z"}"#)
        let date: Date? = try await read(#"{"moment":"2023-11-14T22:13:20Z"}"#).moment
        #expect(date == .november)
    }

    @Test(arguments: ["2023-11-14T22:13:20Z", "2023-11-15T00:13:20+02:00", "2023-11-14T21:13:20-0100"])
    func aMomentNeedsAZone(text: String) async throws {
        #expect(try await read(#"{"moment":"\#(text)"}"#) == specimen { $0.moment = .november })
    }

    @Test(
        arguments: [
            "2023-11-14T22:13:20", "2023-11-14", "2023-11-14 22:13:20Z", "2023-11-14T22:13Z", "2023-11-14t22:13:20Z",
            "2023-11-14T22:13:20z", "2023-11-14T22:13:20.000Z", "1700000000", "",
        ]
    )
    func textThatIsNoMomentIsRefused(text: String) async throws {
        try await expectRefused(#"{"moment":"\#(text)"}"#)
    }

    @Test func fractionsOfSecondsNeedTheirOwnTranscoder() async throws {
        let exact = specimen { $0.moment = Date(timeIntervalSince1970: 1_700_000_000.25) }
        let json = #"{"moment":"2023-11-14T22:13:20.250Z"}"#
        #expect(try await written(exact, dates: .iso8601WithFractionalSeconds) == json)
        #expect(try await read(json, dates: .iso8601WithFractionalSeconds) == exact)
    }

    @Test func bytesAreBase64() async throws {
        try await expect(specimen { $0.bytes = [1, 2, 3] }, is: #"{"bytes":"AQID"}"#)
        try await expect(specimen { $0.bytes = [0xFB, 0xFF] }, is: #"{"bytes":"+/8="}"#)
        try await expect(specimen { $0.bytes = [] }, is: #"{"bytes":""}"#)
        let bytes: Base64EncodedData? = try await read(#"{"bytes":"AQID"}"#).bytes
        #expect(bytes?.data == [1, 2, 3])
        try await expectRefused(#"{"bytes":"A"}"#)
        try await expectRefused(#"{"bytes":7}"#)
    }

    @Test func integersHaveTheSizeOfTheirFormat() async throws {
        let specimen = specimen {
            $0.whole = .max
            $0.small = .min
            $0.big = 9_007_199_254_740_993
            $0.odd = -1
        }
        let json = #"{"big":9007199254740993,"odd":-1,"small":-2147483648,"whole":9223372036854775807}"#
        try await expect(specimen, is: json)
        try await expectRefused(#"{"small":2147483648}"#)
        try await expectRefused(#"{"whole":9223372036854775808}"#)
        try await expectRefused(#"{"whole":0.5}"#)
        try await expectRefused(#"{"whole":"1"}"#)
    }

    @Test func numbersAreDoublesAndFloats() async throws {
        try await expect(
            specimen {
                $0.number = 0.1
                $0.single = 0.1
            },
            is: #"{"number":0.1,"single":0.1}"#
        )
        try await expect(specimen { $0.number = 3 }, is: #"{"number":3}"#)
        try await expectRefused(#"{"number":"1"}"#)
        try await expectRefused(#"{"number":true}"#)
    }

    @Test func numbersAndFlagsAreNoEnumerations() async throws {
        try await expect(
            specimen {
                $0.chosen = 7.5
                $0.certain = false
            },
            is: #"{"certain":false,"chosen":7.5}"#
        )
    }

    @Test func flagsAreTrueOrFalse() async throws {
        try await expect(specimen { $0.flag = true }, is: #"{"flag":true}"#)
        try await expectRefused(#"{"flag":1}"#)
        try await expectRefused(#"{"flag":"true"}"#)
    }

    @Test(
        arguments: [
            (OpenAPIValueContainer("text"), #""text""#), (7, "7"), (1.5, "1.5"), (true, "true"),
        ] as [(OpenAPIValueContainer, String)]
    )
    func schemasWithoutATypeTakeLiterals(value: OpenAPIValueContainer, json: String) async throws {
        try await expect(
            specimen {
                $0.anything = value
                $0.untyped = value
                $0.constant = value
            },
            is: #"{"anything":\#(json),"constant":\#(json),"untyped":\#(json)}"#
        )
    }

    @Test func freeObjectsAndListsKeepEveryKind() async throws {
        let json = #"{"list":[1,null,"a",[],{"b":false}],"object":{"x":{"y":[1.5]},"z":null},"tuple":["a",1,true]}"#
        let specimen = try await read(json)
        #expect(specimen.list?.value.count == 5)
        #expect(specimen.object?.value.keys.sorted() == ["x", "z"])
        #expect(specimen.tuple?.value[0] as? String == "a")
        #expect(specimen.tuple?.value[1] as? Int == 1)
        #expect(try await written(specimen) == json)
        #expect(try await read(json) == specimen)
    }

    @Test func freeContainersRefuseOtherKinds() async throws {
        try await expectRefused(#"{"object":[]}"#)
        try await expectRefused(#"{"list":{}}"#)
        try await expectRefused(#"{"tuple":"a"}"#)
    }

    @Test func constantsOfStringsAreEnumerations() async throws {
        try await expect(specimen { $0.fixed = .only_hyphen_this }, is: #"{"fixed":"only-this"}"#)
        #expect(Schemas.Specimen.fixedPayload.allCases == [.only_hyphen_this])
        try await expectRefused(#"{"fixed":"that"}"#)
    }

    @Test func limitsAndDefaultsAreNotChecked() async throws {
        try await expect(specimen { $0.limited = "z" }, is: #"{"limited":"z"}"#)
        #expect(Schemas.Specimen().limited == nil)
    }
}

/// Enumerations.
struct EnumerationSchemaTests {
    @Test func casesKeepTheDocumentsValuesAndOrder() {
        #expect(Schemas.Colour.allCases == [.red, .dark_hyphen_blue, ._default, ._empty, ._dollar_odd])
        #expect(Schemas.Colour.allCases.map(\.rawValue) == ["red", "dark-blue", "default", "", "$odd"])
        #expect(Schemas.Rank.allCases == [._0, ._10, ._n5])
        #expect(Schemas.Rank.allCases.map(\.rawValue) == [0, 10, -5])
    }

    @Test(arguments: Schemas.Colour.allCases)
    func everyCaseOfAStringEnumerationIsWrittenAndRead(colour: Schemas.Colour) async throws {
        try await expect(specimen { $0.colour = colour }, is: #"{"colour":"\#(colour.rawValue)"}"#)
    }

    @Test func integerEnumerationsAreWrittenAndRead() async throws {
        try await expect(specimen { $0.rank = ._n5 }, is: #"{"rank":-5}"#)
    }

    @Test func unknownValuesAreRefused() async throws {
        try await expectRefused(#"{"colour":"pink"}"#)
        try await expectRefused(#"{"colour":"Red"}"#)
        try await expectRefused(#"{"rank":1}"#)
        try await expectRefused(#"{"rank":"0"}"#)
    }

    @Test func nullAmongTheValuesIsTheEmptyCase() async throws {
        #expect(Schemas.Blank.allCases == [.full, ._empty])
        #expect(try await read(#"{"blank":null}"#).blank == nil)
        try await expect(specimen { $0.blank = .full }, is: #"{"blank":"full"}"#)
    }

    @Test func anOpenEnumerationTakesKnownAndUnknownValues() async throws {
        #expect(
            try await read(#"{"openColour":"red"}"#) == specimen { $0.openColour = .init(value1: .red, value2: "red") }
        )
        try await expect(specimen { $0.openColour = .init(value2: "pink") }, is: #"{"openColour":"pink"}"#)
        #expect(try await written(specimen { $0.openColour = .init(value1: .blue) }) == #"{"openColour":"blue"}"#)
        try await expectRefused(#"{"openColour":7}"#)
    }
}
