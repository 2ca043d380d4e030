import HTTPTypes
import OpenAPISwiftBehaviourSupport
import OpenAPISwiftRuntime
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Types of a document of version 3.0, with idiomatic names.
struct IdiomaticSchemaTests {
    private typealias Schemas = Components.Schemas

    private func sample(_ change: (inout Schemas.Sample) -> Void) -> Schemas.Sample {
        var sample = Schemas.Sample(id: 1)
        change(&sample)
        return sample
    }

    private func expect(
        _ sample: Schemas.Sample,
        is json: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let wire = Wire(json: json)
        let options: JSONEncodingOptions = [.sortedKeys, .withoutEscapingSlashes]
        let client: Client = wire.client(configuration: .init(jsonEncodingOptions: options))
        let answer = try await client.exchange(body: .json(sample)).ok.body.json
        #expect(answer == sample, sourceLocation: sourceLocation)
        #expect(try wire.request.body == json, sourceLocation: sourceLocation)
        let input = try await received(\.exchange, .post, "/sample", [:], HTTPBody(json))
        #expect(input.body == .json(sample), sourceLocation: sourceLocation)
    }

    @Test func nullablePropertiesAreOptionalAndLeftOut() async throws {
        try await expect(sample { _ in }, is: #"{"id":1}"#)
        let input = try await received(\.exchange, .post, "/sample", [:], #"{"id":1,"needed":null,"referred":null}"#)
        #expect(input.body == .json(.init(id: 1)))
        let sample = sample {
            $0.needed = "n"
            $0.referred = "r"
        }
        try await expect(sample, is: #"{"id":1,"needed":"n","referred":"r"}"#)
    }

    @Test func bytesAndMomentsHaveTypes() async throws {
        let sample = sample {
            $0.someBytes = [1, 2, 3]
            $0.createdAt = .november
        }
        try await expect(sample, is: #"{"created_at":"2023-11-14T22:13:20Z","id":1,"some_bytes":"AQID"}"#)
    }

    @Test func nullableItemsAndValuesKeepTheirNulls() async throws {
        let sample = sample {
            $0.nullableItems = [1, nil]
            $0.nullableMap = .init(additionalProperties: ["a": nil, "b": "c"])
        }
        try await expect(sample, is: #"{"id":1,"nullable_items":[1,null],"nullable_map":{"a":null,"b":"c"}}"#)
    }

    @Test func inlineValuesOfAMapHaveAType() async throws {
        typealias Maps = Schemas.Sample.NestedMapsPayload
        let value = Maps.AdditionalPropertiesPayload(deepKey: 1)
        try await expect(
            sample { $0.nestedMaps = Maps(additionalProperties: ["some_key": value]) },
            is: #"{"id":1,"nested_maps":{"some_key":{"deep_key":1}}}"#
        )
    }

    @Test func namesThatMeetGiveWay() async throws {
        let sample = sample {
            $0.firstName = "snake"
            $0.firstName_2 = "camel"
        }
        try await expect(sample, is: #"{"firstName":"camel","first_name":"snake","id":1}"#)
    }

    @Test func pluralAcronymsAndPrefixesAreNamesToo() async throws {
        let sample = sample {
            $0.urLs = ["u"]
            $0.ids = [1]
            $0._commat_context = "c"
            $0._private = "p"
        }
        try await expect(sample, is: #"{"@context":"c","IDs":[1],"URLs":["u"],"_private":"p","id":1}"#)
        #expect(Schemas.Sample.CodingKeys.urLs.rawValue == "URLs")
    }

    @Test func elementsOfAListGetNamesOfTheirOwn() async throws {
        let list: Schemas.User_list = [Schemas.UserListPayload(userName: "u")]
        try await expect(sample { $0.userList = list }, is: #"{"id":1,"user_list":[{"user_name":"u"}]}"#)
    }

    @Test func casesOfAnEnumerationAreBent() async throws {
        typealias Order = Schemas.SortOrder
        #expect(Order.allCases == [.newestFirst, .oldestFirst, ._2nd, ._empty_, ._default, .renewed])
        #expect(
            Order.allCases.map(\.rawValue) == ["newest-first", "OLDEST_FIRST", "2nd", "", "default", "old value"]
        )
        try await expect(sample { $0.sort = .oldestFirst }, is: #"{"id":1,"sort":"OLDEST_FIRST"}"#)
    }

    @Test func anOpenEnumerationKeepsValuesOfLater() async throws {
        let later = Schemas.SortOrder(rawValue: "by mood")
        try await expect(sample { $0.sort = later }, is: #"{"id":1,"sort":"by mood"}"#)
        #expect(!Schemas.SortOrder.allCases.contains(later))
        #expect(Schemas.SortOrder(rawValue: "2nd") == ._2nd)
        func word(_ order: Schemas.SortOrder) -> String {
            switch order {
            case .newestFirst: "new"
            case .oldestFirst: "old"
            default: order.rawValue
            }
        }
        #expect([.newestFirst, .oldestFirst, later].map(word) == ["new", "old", "by mood"])
        let answer = try await Handlers().answer(.post, "/sample", [:], #"{"id":1,"sort":7}"#)
        #expect(answer == Message(start: "400"))
    }

    @Test func anOpenEnumerationIsAParameterToo() async throws {
        let target = "/users/u/posts/7.json?sort.by=by%20mood"
        let query = try await received(\.getPost, .get, target).query
        #expect(query == .init(sort_by: .init(rawValue: "by mood")))
        let wire = Wire(404, [.contentType: "application/problem+json"], "{}")
        _ = try await wire.client().getUser_post(path: .init(userId: "u", postId: 7), query: query)
        #expect(try wire.target == target)
    }

    @Test func overriddenNamesKeepTheirSpellingOnTheWire() async throws {
        try await expect(
            sample { $0.old = Schemas.Renewed(fresh: "f") },
            is: #"{"id":1,"old":{"old-property":"f"}}"#
        )
        try await expect(sample { $0.sort = .renewed }, is: #"{"id":1,"sort":"old value"}"#)
    }

    @Test func aCustomTypeReplacesASchema() async throws {
        let price: Schemas.Money = Cents(250)
        try await expect(
            sample {
                $0.price = price
                $0.prices = [Cents(1), Cents(2)]
            },
            is: #"{"id":1,"price":250,"prices":[1,2]}"#
        )
    }

    @Test func aCustomTypeMayHaveAnotherName() async throws {
        let discount: Schemas.Cash = Cents(50)
        try await expect(sample { $0.discount = discount }, is: #"{"discount":50,"id":1}"#)
    }

    @Test func aTypeOfAnotherLibraryStandsForASchema() async throws {
        let text = "0F0E0D0C-0B0A-4908-8706-050403020100"
        let unique: Schemas.Unique = try #require(UUID(uuidString: text))
        try await expect(
            sample {
                $0.uniqueId = unique
                $0.otherIds = [unique]
            },
            is: #"{"id":1,"other_ids":["\#(text)"],"unique_id":"\#(text)"}"#
        )
        let answer = try await Handlers().answer(.post, "/sample", [:], #"{"id":1,"unique_id":"none"}"#)
        #expect(answer == Message(start: "400"))
    }

    @Test func casesOfAChoiceAreSpelledLikeTheirTypes() async throws {
        try await expect(
            sample { $0.animal = .CatAnimal(.init(petType: "cat", nineLives: 9)) },
            is: #"{"animal":{"nine-lives":9,"pet_type":"cat"},"id":1}"#
        )
        try await expect(sample { $0.animal = .case3("fish") }, is: #"{"animal":"fish","id":1}"#)
    }

    @Test func casesOfADiscriminatorAreSpelledLikeMembers() async throws {
        try await expect(
            sample { $0.known = .houseDog(.init(petType: "house-dog")) },
            is: #"{"id":1,"known":{"pet_type":"house-dog"}}"#
        )
        try await expect(
            sample { $0.known = .tabby(.init(petType: "tom")) },
            is: #"{"id":1,"known":{"pet_type":"tom"}}"#
        )
        #expect(Schemas.KnownAnimal.CodingKeys.petType.rawValue == "pet_type")
        let answer = try await Handlers().answer(.post, "/sample", [:], #"{"id":1,"known":{"pet_type":"tabby"}}"#)
        #expect(answer == Message(start: "400"))
    }

    @Test func membersOfCompositionsHaveNumbers() async throws {
        typealias Mixed = Schemas.Sample.MixedUpPayload
        typealias Other = Schemas.Sample.OneOrOtherPayload
        let sample = sample {
            $0.mixedUp = Mixed(value1: .init(petType: "dog"), value2: Mixed.Value2Payload(barksAt: "moon"))
            $0.oneOrOther = Other(value2: Other.Value2Payload(aB: "x"))
        }
        try await expect(
            sample,
            is: #"{"id":1,"mixed_up":{"barks_at":"moon","pet_type":"dog"},"one_or_other":{"a_b":"x"}}"#
        )
    }
}
