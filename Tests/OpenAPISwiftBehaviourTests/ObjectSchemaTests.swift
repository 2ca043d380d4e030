import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import StreamingJSON
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Objects and lists, and members that may be missing.
struct ObjectSchemaTests {
    // MARK: Optionality

    @Test func nullableAndAbsentAreBothNil() async throws {
        let maybe = Schemas.Maybe(plain: "p", preset: 1)
        #expect(maybe.needed == nil && maybe.referred == nil)
        #expect(
            try await read(#"{"maybe":{"needed":null,"referred":null,"plain":"p","preset":1,"absent":null}}"#)
                == specimen { $0.maybe = maybe }
        )
        #expect(try await read(#"{"maybe":{"plain":"p","preset":1}}"#) == specimen { $0.maybe = maybe })
    }

    @Test func nilIsLeftOutEvenOfRequiredProperties() async throws {
        try await expect(
            specimen { $0.maybe = .init(plain: "p", preset: 1) },
            is: #"{"maybe":{"plain":"p","preset":1}}"#
        )
    }

    @Test func defaultsGiveNoValues() async throws {
        let maybe: Schemas.Maybe = .init(needed: "n", plain: "p", preset: 1)
        #expect(maybe.absent == nil)
        try await expectRefused(#"{"maybe":{"plain":"p"}}"#)
    }

    @Test func readOnlyAndWriteOnlyPropertiesArePropertiesLikeOthers() async throws {
        try await expect(
            specimen { $0.maybe = .init(plain: "p", preset: 1, given: "g", secret: "s") },
            is: #"{"maybe":{"given":"g","plain":"p","preset":1,"secret":"s"}}"#
        )
    }

    @Test func aNullableComponentIsNoOptionalItself() {
        let text: Schemas.NullableText = "t"
        #expect(type(of: text) == String.self)
    }

    @Test(arguments: [
        #"{"plain":null,"preset":1}"#, #"{"preset":1}"#, #"{"plain":"p","preset":null}"#, "null x", "[]", "7",
    ])
    func aMissingRequiredPropertyIsRefused(json: String) async throws {
        try await expectRefused(#"{"maybe":\#(json)}"#)
    }

    // MARK: Lists

    @Test func listsKeepNullsNestingAndOrder() async throws {
        try await expect(
            specimen {
                $0.lists = .init(
                    gaps: ["a", nil, "b"],
                    nested: [[1, 2], [], [3]],
                    objects: [Schemas.Lists.objectsPayloadPayload(a: 1), .init()],
                    enums: [.q, .p, .q],
                    moments: [.november],
                    maps: [.init(additionalProperties: ["x": 1]), .init()]
                )
            },
            is: #"{"lists":{"enums":["q","p","q"],"gaps":["a",null,"b"],"maps":[{"x":1},{}],"#
                + #""moments":["2023-11-14T22:13:20Z"],"nested":[[1,2],[],[3]],"objects":[{"a":1},{}]}}"#
        )
    }

    @Test func elementsOfAnInlineTypeAreNamedAfterTheList() {
        let objects: Schemas.Lists.objectsPayload = [Schemas.Lists.objectsPayloadPayload(a: 1)]
        let enums: Schemas.Lists.enumsPayload = [Schemas.Lists.enumsPayloadPayload.p]
        #expect(Schemas.Lists(objects: objects, enums: enums).enums == [.p])
    }

    @Test func aWrongElementIsRefused() async throws {
        try await expectRefused(#"{"lists":{"nested":[[1],["2"]]}}"#)
        try await expectRefused(#"{"lists":{"nested":[[null]]}}"#)
        try await expectRefused(#"{"lists":{"enums":["r"]}}"#)
        try await expectRefused(#"{"lists":{"gaps":{}}}"#)
    }

    // MARK: Other keys

    @Test func otherKeysOfAnObjectAreIgnored() async throws {
        #expect(
            try await read(#"{"plain":{"x":1,"y":2,"z":{"x":[]}}}"#) == specimen { $0.plain = .init(x: 1, y: 2) }
        )
    }

    @Test func aClosedObjectRefusesOtherKeys() async throws {
        try await expect(specimen { $0.closed = .init(a: 1) }, is: #"{"closed":{"a":1}}"#)
        try await expectRefused(#"{"closed":{"a":1,"b":2}}"#)
        try await expectRefused(#"{"closed":{"a":1,"b":null}}"#)
    }

    @Test func anOpenObjectKeepsOtherKeys() async throws {
        let others: [String: (any Sendable)?] = ["b": [1, "x"] as [any Sendable], "c": nil]
        let open = Schemas.Open(a: 1, additionalProperties: try .init(unvalidatedValue: others))
        try await expect(
            specimen { $0.open = open },
            is: #"{"open":{"a":1,"b":[1,"x"],"c":null}}"#
        )
        try await expect(specimen { $0.open = .init() }, is: #"{"open":{}}"#)
    }

    @Test func aMapIsAStructWithOneProperty() async throws {
        try await expect(
            specimen { $0.counts = .init(additionalProperties: ["b": 2, "a": 1, "": 0]) },
            is: #"{"counts":{"":0,"a":1,"b":2}}"#
        )
        #expect(Schemas.Counts().additionalProperties == [:])
        try await expectRefused(#"{"counts":{"a":"1"}}"#)
        try await expectRefused(#"{"counts":{"a":null}}"#)
    }

    @Test func aMapOfNullableValuesKeepsNulls() async throws {
        try await expect(
            specimen { $0.gaps = .init(additionalProperties: ["a": "x", "b": nil]) },
            is: #"{"gaps":{"a":"x","b":null}}"#
        )
    }

    @Test func aMapHoldsComponents() async throws {
        try await expect(
            specimen { $0.points = .init(additionalProperties: ["p": .init(x: 1, y: 2)]) },
            is: #"{"points":{"p":{"x":1,"y":2}}}"#
        )
    }

    @Test func aMapBesidePropertiesHoldsTheRest() async throws {
        let rest = Schemas.Named.additionalPropertiesPayload(n: 1)
        try await expect(
            specimen { $0.named = .init(a: "t", additionalProperties: ["b": rest]) },
            is: #"{"named":{"a":"t","b":{"n":1}}}"#
        )
        try await expectRefused(#"{"named":{"b":{}}}"#)
        try await expectRefused(#"{"named":{"a":{"n":1}}}"#)
    }

    // MARK: Names

    @Test func oddNamesKeepTheirSpellingOnTheWire() async throws {
        let names = Schemas.Names(
            _dollar_type: "a",
            _self: "b",
            _Self: "c",
            _init: "d",
            _1st: "e",
            a_hyphen_b: "f",
            a_space_b: "g",
            é: "h",
            quo_quot_te: "i",
            back_bsol_slash: "j",
            description: "k",
            hashValue: "l",
            value: "m",
            reader: "n",
            writer: "o",
            key: "p",
            json: "q",
            v0: "r",
            _Type: "s",
            _Protocol: "t",
            Owner: "u",
            RawValue: "v",
            rawValue: "w",
            stringValue: "x",
            CodingKeys: "y"
        )
        try await expect(
            specimen { $0.names = names },
            is: #"{"names":{"$type":"a","1st":"e","CodingKeys":"y","Owner":"u","Protocol":"t","RawValue":"v","#
                + #""Self":"c","Type":"s","a b":"g","a-b":"f","back\\slash":"j","description":"k","hashValue":"l","init":"d","#
                + #""json":"q","key":"p","quo\"te":"i","rawValue":"w","reader":"n","self":"b","stringValue":"x","v0":"r","#
                + #""value":"m","writer":"o","é":"h"}}"#
        )
    }

    @Test func codingKeysAreTheDocumentsNames() {
        #expect(Schemas.Names.CodingKeys._dollar_type.rawValue == "$type")
        #expect(Schemas.Names.CodingKeys._1st.stringValue == "1st")
        #expect(Schemas.Names.CodingKeys(stringValue: "a b") == .a_space_b)
        #expect(Schemas.Names.CodingKeys._init.stringValue == "init")
        #expect(Schemas.Names.CodingKeys.stringValue.stringValue == "stringValue")
        #expect(Schemas.Pet.CodingKeys.kind.rawValue == "kind")
    }

    @Test func codingKeysAreThoseOfTheirTypeOnly() {
        typealias Keys = Schemas.Names.CodingKeys
        #expect(Keys(rawValue: "quo\"te") == .quo_quot_te)
        #expect(Keys(rawValue: "back\\slash") == .back_bsol_slash)
        #expect(Keys(rawValue: "é") == .é)
        for other in ["", "a", "a_space_b", "names", "self ", String(repeating: "x", count: 1000)] {
            #expect(Keys(rawValue: other) == nil && Keys(stringValue: other) == nil)
        }
        #expect(Keys(intValue: 1) == nil && Keys.key.intValue == nil)
        #expect(Set([Keys.key, .value, .key]) == [.key, .value])
    }

    @Test(arguments: [("id", true), ("parent", true), ("name", false)])
    func codingKeysOfARecursiveTypeAreItsProperties(key: String, isOne: Bool) {
        #expect((Schemas.Chain.CodingKeys(rawValue: key) != nil) == isOne)
    }

    @Test func codingKeysOfAChoiceAreItsDiscriminator() {
        #expect(Schemas.Pet.CodingKeys(rawValue: "kind") == .kind)
        #expect(Schemas.Pet.CodingKeys(rawValue: "name") == nil)
    }

    @Test func codingKeysServeCodersOfTheirUsers() throws {
        /// A user's type with the coding keys of a generated type.
        struct Renamed: Codable, Equatable {
            typealias Keys = Schemas.Maybe.CodingKeys

            var plain: String
            var others: [String]

            init(plain: String) {
                self.plain = plain
                others = []
            }

            init(from decoder: any Decoder) throws {
                let container: KeyedDecodingContainer<Keys> = try decoder.container(keyedBy: Keys.self)
                plain = try container.decode(String.self, forKey: .plain)
                others = container.allKeys.filter { $0 != .plain }.map(\.stringValue)
            }

            func encode(to encoder: any Encoder) throws {
                var container: KeyedEncodingContainer<Keys> = encoder.container(keyedBy: Keys.self)
                try container.encode(plain, forKey: .plain)
            }
        }
        let data: Data = try JSONEncoder().encode(Renamed(plain: "p"))
        #expect(String(decoding: data, as: UTF8.self) == #"{"plain":"p"}"#)
        let read: Renamed = try JSONDecoder()
            .decode(Renamed.self, from: Data(#"{"plain":"p","preset":1,"unknown":2}"#.utf8))
        #expect(read.plain == "p" && read.others == ["preset"])
    }

    @Test func codingKeysAreToldApartByASwitch() {
        func number(_ key: Schemas.Maybe.CodingKeys) -> Int {
            switch key {
            case .plain: 1
            case .preset: 2
            default: 3
            }
        }
        #expect([number(.plain), number(.preset), number(.absent)] == [1, 2, 3])
    }

    @available(*, deprecated)
    @Test func deprecatedObjectsWork() async throws {
        try await expect(specimen { $0.old = Schemas.Old(a: 1) }, is: #"{"old":{"a":1}}"#)
        let old: [Schemas.Old] = [.init(a: 1), .init()]
        let data: Data = try JSONEncoder().encode(old)
        #expect(String(decoding: data, as: UTF8.self) == #"[{"a":1},{}]"#)
        #expect(try JSONDecoder().decode([Schemas.Old].self, from: data) == old)
    }

    // MARK: Recursion

    @Test func anObjectHoldsAnotherOfItsKind() async throws {
        let chain = Schemas.Chain(id: 1, parent: .init(id: 2, parent: .init(id: 3)))
        try await expect(
            specimen { $0.chain = chain },
            is: #"{"chain":{"id":1,"parent":{"id":2,"parent":{"id":3}}}}"#
        )
    }

    @Test func recursiveObjectsChangeInPlaceAndAreCopiedOnWrite() {
        var chain = Schemas.Chain(id: 1, parent: .init(id: 2))
        let copy: Schemas.Chain = chain
        chain.parent?.id = 7
        chain.parent?.parent = .init(id: 3)
        #expect(copy == Schemas.Chain(id: 1, parent: .init(id: 2)))
        #expect(chain == Schemas.Chain(id: 1, parent: .init(id: 7, parent: .init(id: 3))))
        #expect(chain.hashValue != copy.hashValue)
    }

    @Test func recursionThroughListsAndMapsNeedsNoBox() async throws {
        let family = Schemas.Family(
            name: "a",
            children: [.init(name: "b"), .init(name: "c", children: [])],
            byName: .init(additionalProperties: ["d": .init(name: "d")])
        )
        try await expect(
            specimen { $0.family = family },
            is:
                #"{"family":{"byName":{"d":{"name":"d"}},"children":[{"name":"b"},{"children":[],"name":"c"}],"name":"a"}}"#
        )
    }

    @Test func twoObjectsHoldEachOther() async throws {
        try await expect(
            specimen { $0.hen = .init(egg: .init(hen: .init(egg: .init(weight: 1)), weight: 2)) },
            is: #"{"hen":{"egg":{"hen":{"egg":{"weight":1}},"weight":2}}}"#
        )
    }

    @Test func anEnumerationOfPayloadsIsRecursive() async throws {
        try await expect(
            specimen { $0.tree = .Branch(.init(left: .case2("a"), right: .Branch(.init(left: .case2("b"))))) },
            is: #"{"tree":{"left":"a","right":{"left":"b"}}}"#
        )
    }

    @Test func aCompositionIsRecursive() async throws {
        let doll = Schemas.Doll(
            value1: .init(inner: .init(value1: .init(), value2: .init(size: 1))),
            value2: .init(size: 2)
        )
        try await expect(specimen { $0.doll = doll }, is: #"{"doll":{"inner":{"size":1},"size":2}}"#)
    }

    @Test func deepRecursionIsReadAndWritten() async throws {
        var chain = Schemas.Chain(id: 0)
        for id in 1...100 { chain = Schemas.Chain(id: id, parent: chain) }
        let specimen = specimen { $0.chain = chain }
        #expect(try await read(written(specimen)) == specimen)
    }

    // MARK: Codable and Hashable

    @Test func otherCodersReadAndWriteTheSame() throws {
        struct Wrapper: Codable, Equatable {
            var points: [Schemas.Point]
            var choice: Schemas.Choice?
            var rank: Schemas.Rank
        }
        let wrapper = Wrapper(points: [.init(x: 1, y: 2)], choice: .Note(.init(text: "t")), rank: ._10)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data: Data = try encoder.encode(wrapper)
        #expect(String(decoding: data, as: UTF8.self) == #"{"choice":{"text":"t"},"points":[{"x":1,"y":2}],"rank":10}"#)
        #expect(try JSONDecoder().decode(Wrapper.self, from: data) == wrapper)
    }

    @Test func otherCodersHaveDatesInTheirOwnWay() throws {
        struct Wrapper: Codable, Equatable {
            var filters: [Schemas.Filter]
            var date: Date
        }
        let date = Date(timeIntervalSinceReferenceDate: 5.25)
        let wrapper = Wrapper(filters: [.init(name: "5.25", since: date), .init(name: "a")], date: date)
        func text(_ configure: (JSONEncoder) -> Void) throws -> String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            configure(encoder)
            return String(decoding: try encoder.encode(wrapper), as: UTF8.self)
        }
        func wrapped(_ date: String) -> String {
            #"{"date":\#(date),"filters":[{"name":"5.25","since":\#(date)},{"name":"a"}]}"#
        }
        func read(_ text: String, _ configure: (JSONDecoder) -> Void) throws -> Wrapper {
            let decoder = JSONDecoder()
            configure(decoder)
            return try decoder.decode(Wrapper.self, from: Data(text.utf8))
        }
        #expect(try text { _ in } == wrapped("5.25"))
        #expect(try read(wrapped("5.25")) { _ in } == wrapper)
        #expect(try text { $0.dateEncodingStrategy = .millisecondsSince1970 } == wrapped("978307205250"))
        #expect(try read(wrapped("978307205250")) { $0.dateDecodingStrategy = .millisecondsSince1970 } == wrapper)
        #expect(try text { $0.dateEncodingStrategy = .iso8601 } == wrapped(#""2001-01-01T00:00:05Z""#))
        let whole = try read(wrapped(#""2001-01-01T00:00:05Z""#)) { $0.dateDecodingStrategy = .iso8601 }
        #expect(whole.filters[0].since == Date(timeIntervalSinceReferenceDate: 5))

        // The text of a message is read, too, which earlier versions wrote.
        let filter = Data(#"{"since":"2001-01-01T00:00:05Z"}"#.utf8)
        #expect(try JSONDecoder().decode(Schemas.Filter.self, from: filter).since == whole.filters[0].since)
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(Schemas.Filter.self, from: Data(#"{"since":"soon"}"#.utf8))
        }
    }

    @Test func aDecoderSaysWhereItFailed() {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([Schemas.Point].self, from: Data(#"[{"x":1}]"#.utf8))
        }
    }

    @Test func equalObjectsAreOneInASet() {
        let points: Set<Schemas.Point> = [.init(x: 1, y: 2), .init(x: 1, y: 2), .init(x: 2, y: 1)]
        #expect(points.count == 2)
        #expect(Schemas.Maybe(plain: "p", preset: 1) != Schemas.Maybe(needed: "", plain: "p", preset: 1))
    }
}

/// The compositions allOf, anyOf and oneOf.
struct CompositionSchemaTests {
    @Test func allOfIsOneObjectReadByEveryMember() async throws {
        let both = Schemas.Both(value1: .init(x: 1, y: 2), value2: Schemas.Both.Value2Payload(z: 3))
        try await expect(specimen { $0.both = both }, is: #"{"both":{"x":1,"y":2,"z":3}}"#)
        #expect(try await read(#"{"both":{"z":3,"w":4,"y":2,"x":1,"v":0}}"#).both?.value2 == .init(z: 3, w: 4))
        try await expectRefused(#"{"both":{"x":1,"y":2}}"#)
        try await expectRefused(#"{"both":{"z":3}}"#)
    }

    @Test func membersThatOnlyRequireHaveNoMembersOfTheirOwn() async throws {
        var demanding: Schemas.Demanding = try #require(
            try await read(#"{"demanding":{"name":"old","size":1}}"#).demanding
        )
        #expect(demanding == .init(value1: .init(name: "old", size: 1), value2: .init(), value3: .init()))
        demanding.value1.name = "new"
        demanding.value1.size = nil
        try await expect(specimen { $0.demanding = demanding }, is: #"{"demanding":{"name":"new"}}"#)
        try await expectRefused(#"{"demanding":[]}"#)
    }

    @Test func aListedPropertyIsWrittenRatherThanWhatAFreeMemberKeeps() async throws {
        let json = #"{"remarked":{"more":true,"name":"old","size":1}}"#
        var remarked: Schemas.Remarked = try #require(try await read(json).remarked)
        #expect(remarked.value3.value["more"] as? Bool == true)
        remarked.value1.name = "new"
        #expect(
            try await written(specimen { $0.remarked = remarked })
                == #"{"remarked":{"more":true,"name":"new","size":1}}"#
        )
    }

    @Test func aListedPropertyIsWrittenRatherThanWhatAnOpenMemberKeeps() async throws {
        let json = #"{"extended":{"extra":"e","name":"old","note":"n","other":"o"}}"#
        var extended: Schemas.Extended = try #require(try await read(json).extended)
        #expect(try await written(specimen { $0.extended = extended }) == json)
        extended.value1.extra = "E"
        extended.value2.name = "new"
        extended.value3.note = "N"
        extended.value3.additionalProperties["other"] = "O"
        #expect(
            try await written(specimen { $0.extended = extended })
                == #"{"extended":{"extra":"E","name":"new","note":"N","other":"O"}}"#
        )
    }

    // MARK: Compositions of themselves

    @Test(arguments: ["Car", "boat"])
    func compositionsInsideOfThemselvesAreRefused(kind: String) throws {
        let json = Array(#" {"doors":4,"kind":"\#(kind)"}"#.utf8)
        #expect(throws: JSONError.self) { try JSONReader.read(Schemas.Vehicle.self, from: json) }
        #expect(throws: JSONError.self) { try JSONReader.read(Schemas.Ship.self, from: json) }
        #expect(throws: JSONError.self) { try JSONReader.read(Schemas.Boat.self, from: json) }
    }

    @Test func otherMembersOfCompositionsOfThemselvesAreRead() throws {
        let bicycle = Schemas.Bicycle(kind: "Bicycle")
        let json = Array(#"{"doors":4,"kind":"Bicycle"}"#.utf8)
        #expect(try JSONReader.read(Schemas.Vehicle.self, from: json) == .Bicycle(bicycle))
        let car = Schemas.Car(value1: .Bicycle(bicycle), value2: .init(doors: 4))
        #expect(try JSONReader.read(Schemas.Car.self, from: json) == car)
        let rafts = Array(#"[{"kind":"raft"}, {"kind":"raft"}]"#.utf8)
        #expect(try JSONReader.read([Schemas.Ship].self, from: rafts).count == 2)
    }

    // MARK: Properties beside compositions

    @Test func propertiesStandBesideAChoice() async throws {
        let completed: Schemas.CheckRun.Value1Payload = .case1(.init(status: "completed", conclusion: "good"))
        try await expect(
            specimen {
                $0.checkRun = .init(name: "n", status: .completed, started: .november, value1: completed)
                $0.checkRun?.value1 = .case1(
                    .init(
                        status: "completed",
                        conclusion: "good",
                        additionalProperties: try! .init(unvalidatedValue: [
                            "name": "n", "started": "2023-11-14T22:13:20Z",
                        ])
                    )
                )
            },
            is: #"{"checkRun":{"conclusion":"good","name":"n","started":"2023-11-14T22:13:20Z","status":"completed"}}"#
        )
        #expect(
            try await written(specimen { $0.checkRun = .init(name: "n", value1: completed) })
                == #"{"checkRun":{"conclusion":"good","name":"n","status":"completed"}}"#
        )
        try await expectRefused(#"{"checkRun":{"conclusion":"good","status":"completed"}}"#)
    }

    @Test func aChangedPropertyIsWrittenRatherThanWhatAMemberKeeps() async throws {
        let json = #"{"checkRun":{"extra":[1],"name":"old","started":"2023-11-14T22:13:20Z","status":"queued"}}"#
        var run: Schemas.CheckRun = try #require(try await read(json).checkRun)
        #expect(try await written(specimen { $0.checkRun = run }) == json)
        run.name = "new"
        run.started = nil
        #expect(
            try await written(specimen { $0.checkRun = run })
                == #"{"checkRun":{"extra":[1],"name":"new","status":"queued"}}"#
        )
    }

    @Test func membersThatOnlyConstrainPropertiesChangeNothing() async throws {
        let account = Schemas.Account(id: 1, kind: Schemas.Account.kindPayload(a: "x"))
        try await expect(specimen { $0.account = account }, is: #"{"account":{"id":1,"kind":{"a":"x"}}}"#)
        try await expectRefused(#"{"account":{"id":1}}"#)
    }

    @Test func propertiesStandBesideTheMembersOfAnyOf() async throws {
        let parcel = Schemas.Parcel(
            parcel: .init(value2: .init(z: 3), additionalProperties: ["z": 3]),
            value1_2: "v",
            value1: .init(x: 1, y: 2),
            additionalProperties: ["x": 1, "y": 2]
        )
        try await expect(
            specimen { $0.parcel = parcel },
            is: #"{"parcel":{"parcel":{"z":3},"value1":"v","x":1,"y":2}}"#
        )
        #expect(Set([parcel, parcel]).count == 1)
        var other = parcel
        other.value1_2 = "w"
        #expect(other != parcel)
        try await expectRefused(#"{"parcel":{"value1":"v"}}"#)
    }

    @Test func everyCompositionBesidePropertiesIsAValue() async throws {
        let letter = Schemas.Letter(
            to: "t",
            name: "n",
            value1: .init(name: "n", size: 1),
            value2: .init(value2: .init(text: "x")),
            value3: .Dog(.init(kind: "Dog", tricks: ["roll"]))
        )
        try await expect(
            specimen { $0.letter = letter },
            is: #"{"letter":{"kind":"Dog","name":"n","size":1,"text":"x","to":"t","tricks":["roll"]}}"#
        )
    }

    // MARK: Scalars among the members

    @Test func allOfAroundOneScalarIsWrittenAsTheScalar() async throws {
        try await expect(specimen { $0.wrapped = .init(value1: "t") }, is: #"{"wrapped":"t"}"#)
    }

    @Test func allOfWithScalarsWritesTheFirstOfThem() async throws {
        let all = Schemas.AllKinds(value1: true, value2: 7, value3: "t", value4: [1])
        #expect(try await written(specimen { $0.all = all }) == #"{"all":"t"}"#)
    }

    @Test func anyOfReadsEveryMemberThatFits() async throws {
        let point = Schemas.Point(x: 1, y: 2)
        let note = Schemas.Note(text: "t")
        try await expect(
            specimen { $0.either = .init(value1: point, value2: note) },
            is: #"{"either":{"text":"t","x":1,"y":2}}"#
        )
        try await expect(specimen { $0.either = .init(value1: point) }, is: #"{"either":{"x":1,"y":2}}"#)
        try await expect(specimen { $0.either = .init(value2: note) }, is: #"{"either":{"text":"t"}}"#)
        try await expectRefused(#"{"either":{"x":1}}"#)
    }

    @Test func anyOfOfDifferentKindsWritesScalarsFirst() async throws {
        #expect(Schemas.SomeKinds() == Schemas.SomeKinds(value1: nil, value2: nil, value3: nil))
        try await expect(specimen { $0.some = .init(value2: "t") }, is: #"{"some":"t"}"#)
        try await expect(specimen { $0.some = .init(value3: [1, 2]) }, is: #"{"some":[1,2]}"#)
        try await expect(specimen { $0.some = .init(value1: .init()) }, is: #"{"some":{}}"#)
        #expect(
            try await written(specimen { $0.some = .init(value1: .init(), value2: "t", value3: [1]) })
                == #"{"some":"t"}"#
        )
        try await expectRefused(#"{"some":true}"#)
    }

    @Test(
        arguments: [
            (Schemas.Choice.case1("t"), #""t""#), (.case2(7), "7"), (.Note(.init(text: "t")), #"{"text":"t"}"#),
            (.case4(.init(c: 1)), #"{"c":1}"#),
        ]
    )
    func oneOfTravelsAsTheMemberItIs(choice: Schemas.Choice, json: String) async throws {
        try await expect(specimen { $0.choice = choice }, is: #"{"choice":\#(json)}"#)
    }

    @Test func oneOfTakesTheFirstMemberThatFits() async throws {
        #expect(try await read(#"{"choice":{"c":1,"text":"t"}}"#).choice == .Note(.init(text: "t")))
        #expect(try await read(#"{"amount":1}"#).amount == .case1(1))
        #expect(try await read(#"{"amount":1.5}"#).amount == .case2(1.5))
        #expect(try await read(#"{"amount":true}"#).amount == .case3(true))
        #expect(try await read(#"{"amount":["a"]}"#).amount == .case4(["a"]))
        #expect(try await read(#"{"amount":[]}"#).amount == .case4([]))
    }

    @Test func oneOfRefusesWhatFitsNoMember() async throws {
        try await expectRefused(#"{"choice":{"d":1}}"#)
        try await expectRefused(#"{"choice":true}"#)
        try await expectRefused(#"{"amount":"a"}"#)
        try await expectRefused(#"{"amount":[1]}"#)
    }

    @Test(
        arguments: [
            (Schemas.Pet.tom_hyphen_cat(.init(kind: "tom-cat", lives: 9)), #"{"kind":"tom-cat","lives":9}"#),
            (.Kitten(.init(kind: "Kitten")), #"{"kind":"Kitten"}"#),
            (.dog(.init(kind: "dog", tricks: ["sit"])), #"{"kind":"dog","tricks":["sit"]}"#),
        ]
    )
    func aDiscriminatorPicksTheCaseOfItsMapping(pet: Schemas.Pet, json: String) async throws {
        try await expect(specimen { $0.pet = pet }, is: #"{"pet":\#(json)}"#)
    }

    @Test func theDiscriminatorMayStandAnywhere() async throws {
        #expect(
            try await read(#"{"pet":{"lives":9,"kind":"Kitten"}}"#).pet == .Kitten(.init(kind: "Kitten", lives: 9))
        )
    }

    @Test func theDiscriminatorIsWhateverThePayloadHolds() async throws {
        #expect(try await written(specimen { $0.pet = .dog(.init(kind: "cat")) }) == #"{"pet":{"kind":"cat"}}"#)
    }

    @Test func anUnknownOrMissingDiscriminatorIsRefused() async throws {
        try await expectRefused(#"{"pet":{"kind":"cow"}}"#)
        try await expectRefused(#"{"pet":{"kind":"kitten"}}"#)
        try await expectRefused(#"{"pet":{"lives":9}}"#)
        try await expectRefused(#"{"pet":{"kind":7}}"#)
        try await expectRefused(#"{"pet":"dog"}"#)
    }

    @Test(arguments: ["Circle", "#/components/schemas/Circle"])
    func withoutMappingTheNameOfTheSchemaOrItsReferenceCounts(name: String) async throws {
        try await expect(
            specimen { $0.shape = .Circle(.init(_type: name, r: 1.5)) },
            is: #"{"shape":{"r":1.5,"type":"\#(name)"}}"#
        )
        try await expectRefused(#"{"shape":{"type":"circle"}}"#)
    }

    @Test func nullAmongTheMembersMakesTheValueOptional() async throws {
        #expect(try await read(#"{"perhaps":null,"possibly":null}"#) == Schemas.Specimen())
        try await expect(specimen { $0.perhaps = .init(x: 1, y: 2) }, is: #"{"perhaps":{"x":1,"y":2}}"#)
        try await expect(specimen { $0.possibly = .init(value1: 7) }, is: #"{"possibly":7}"#)
        try await expect(specimen { $0.possibly = .init(value2: "t") }, is: #"{"possibly":"t"}"#)
    }

    @Test func aMemberThatMayBeNullMakesTheValueOptional() async throws {
        let members = #""one":null,"any":null,"all":null,"deep":null,"referred":null,"chosen":null,"at":null"#
        #expect(
            try await read(#"{"halts":{\#(members),"rows":[null,[1.5]]},"number2":null}"#)
                == specimen { $0.halts = .init(rows: [nil, [1.5]], additionalProperties: ["at": nil]) }
        )
        try await expect(
            specimen {
                $0.halts = .init(
                    one: .case1(1),
                    any: .init(value1: .init(a: 1)),
                    all: .init(value1: .init(a: 1), value2: .init(name: "n")),
                    deep: .case1(.init(value1: 1)),
                    referred: .case2("t"),
                    rows: [[1.5], nil],
                    chosen: .MaybeNumber(.case1(2.5)),
                    additionalProperties: ["at": .case1(.november), "on": .case2(true)]
                )
            },
            is: #"{"halts":{"all":{"a":1,"name":"n"},"any":{"a":1},"at":"2023-11-14T22:13:20Z","chosen":2.5,"#
                + #""deep":1,"on":true,"one":1,"referred":"t","rows":[[1.5],null]}}"#
        )
    }

    @Test func aCaseOfAMemberThatMayBeNullHoldsNil() async throws {
        try await expect(
            specimen { $0.halts = .init(rows: [], listed: [.case1(nil), .case1(1.5), .case2("t")]) },
            is: #"{"halts":{"listed":[null,1.5,"t"],"rows":[]}}"#
        )
        #expect(Schemas.MaybeNumber.case1(nil) != .case1(0))
    }
}

/// Documents with names that generated code uses itself.
struct ShadowingNameTests {
    @Test func propertiesAreNamedLikeModulesAndNamespaces() async throws {
        try await expect(
            specimen {
                $0.shadows = .init(
                    Operations: .case1(.init(a: 1)),
                    Components: .init(value2: .november),
                    Servers: .init(value1: .init(a: 1), value2: .init(name: "n")),
                    Swift: 7,
                    StreamingJSON: [.Point(.init(x: 1, y: 2)), .case2(true)],
                    OpenAPISwiftRuntime: .init(additionalProperties: ["a": "b"]),
                    OpenAPIRuntime: "t",
                    Foundation: .november
                )
            },
            is: #"{"shadows":{"Components":"2023-11-14T22:13:20Z","Foundation":"2023-11-14T22:13:20Z","#
                + #""OpenAPIRuntime":"t","OpenAPISwiftRuntime":{"a":"b"},"Operations":{"a":1},"#
                + #""Servers":{"a":1,"name":"n"},"StreamingJSON":[{"x":1,"y":2},true],"Swift":7}}"#
        )
    }

    @Test(
        arguments: [
            (Schemas.ModuleNamed.Swift(.init(kind: "Swift", lives: 9)), #"{"kind":"Swift","lives":9}"#),
            (.Components(.init(kind: "Components")), #"{"kind":"Components"}"#),
        ]
    )
    func casesAreNamedLikeModulesAndNamespaces(value: Schemas.ModuleNamed, json: String) async throws {
        try await expect(specimen { $0.moduleNamed = value }, is: #"{"moduleNamed":\#(json)}"#)
    }

    @Test func parametersAndInlineBodiesAreNamedLikeModulesAndNamespaces() async throws {
        let input = Operations.shadows.Input(
            query: .init(Operations: .case1(7), Components: .red),
            headers: .init(Swift: [1, 2]),
            body: .json(.init(Operations: .case2(.init(b: .case1(.init(c: 1))))))
        )
        let client: Client = try Handlers(shadows: { received in
            #expect(received == input)
            return .noContent
        }).client()
        _ = try await client.shadows(input).noContent
    }

    @Test func partsAreNamedLikeModulesAndNamespaces() async throws {
        let client: Client = try Handlers(shadowParts: { input in
            var seen: [String] = []
            switch input.body {
            case .multipartForm(let parts):
                for try await part in parts {
                    switch part {
                    case .Operations(let part):
                        seen.append("\(part.payload.headers.Swift) \(part.payload.body.a ?? 0)")
                    case .Components(let part): seen.append(part.payload.body.text)
                    case .Swift(let part): seen.append(try await String(collecting: part.payload.body, upTo: 10))
                    case .OpenAPISwiftRuntime(let part): seen.append("\(part.payload.body)")
                    }
                }
            }
            #expect(seen == ["3 1", "t", "s", "[1, 2]"])
            return .noContent
        }).client()
        _ = try await client.shadowParts(
            body: .multipartForm([
                .Operations(.init(payload: .init(headers: .init(Swift: 3), body: .init(a: 1)))),
                .Components(.init(payload: .init(body: .init(text: "t")))), .Swift(.init(payload: .init(body: "s"))),
                .OpenAPISwiftRuntime(.init(payload: .init(body: [1, 2]))),
            ])
        ).noContent
    }

    @Test func operationsAreNamedLikeModulesAndNamespaces() async throws {
        let client: Client = try Handlers(
            swiftNamed: { _ in .noContent },
            operationsNamed: { _ in .noContent },
            componentsNamed: { _ in .noContent }
        ).client()
        _ = try await client.Swift().noContent
        _ = try await client.Operations_2().noContent
        _ = try await client.Components().noContent
    }
}

/// Values are sent through client and server and come back.
struct RoundTripTests {
    @Test(
        arguments: [
            #"{}"#, #"{"anything":{"a":[1,{"b":null}]}}"#, #"{"both":{"w":1,"x":1,"y":2,"z":3}}"#,
            #"{"choice":{"c":1},"either":{"text":"t","weight":1.5}}"#,
            #"{"bytes":"AQID","moment":"2023-11-14T22:13:20Z"}"#,
            #"{"shape":{"type":"Square"},"text":"é😀\n\"\\"}"#, #"{"tree":{"left":{"left":"a"},"right":"b"}}"#,
        ]
    )
    func whatIsSentComesBack(json: String) async throws {
        let client: Client = try Handlers(exchange: { input in
            switch input.body {
            case .json(let specimen): .ok(.init(body: .json(specimen)))
            }
        }).client()
        let specimen = try await read(json)
        #expect(try await client.exchange(body: .json(specimen)).ok.body.json == specimen)
        #expect(try await written(specimen) == json)
    }
}
