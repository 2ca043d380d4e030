import Testing

@testable import OpenAPISwiftGenerator

/// The Swift identifiers for names in documents. The tables define the two strategies.
struct NamingStrategyTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var defensive: String
        var type: String
        var member: String

        init(_ name: String, _ defensive: String, _ type: String, _ member: String) {
            self.name = name
            self.defensive = defensive
            self.type = type
            self.member = member
        }

        var testDescription: String { name }
    }

    static let rows: [Row] = [
        Row("petId", "petId", "PetId", "petId"),
        Row("pet_id", "pet_id", "PetId", "petId"),
        Row("pet-id", "pet_hyphen_id", "PetId", "petId"),
        Row("PET_ID", "PET_ID", "PetId", "petId"),
        Row("PET", "PET", "Pet", "pet"),
        Row("Pet.Id.Name", "Pet_period_Id_period_Name", "Pet_Id_Name", "pet_Id_Name"),
        Row("pet/id", "pet_sol_id", "PetId", "petId"),
        Row("pet+id", "pet_plus_id", "PetId", "petId"),
        Row("pet[]", "pet_lbrack__rbrack_", "Pet_lbrack__rbrack_", "pet_lbrack__rbrack_"),
        Row("pet[id]", "pet_lbrack_id_rbrack_", "Pet_lbrack_id_rbrack_", "pet_lbrack_id_rbrack_"),
        Row("$ref", "_dollar_ref", "_dollar_ref", "_dollar_ref"),
        Row("@type", "_commat_type", "_commat_type", "_commat_type"),
        Row("_private", "_private", "_Private", "_private"),
        Row("__private", "__private", "__Private", "__private"),
        Row("-id", "_hyphen_id", "_hyphen_id", "_hyphen_id"),
        Row("1", "_1", "_1", "_1"),
        Row("3Foo_bar", "_3Foo_bar", "_3FooBar", "_3FooBar"),
        Row("2FA", "_2FA", "_2fa", "_2fa"),
        Row("404", "_404", "_404", "_404"),
        Row("v1.2.3", "v1_period_2_period_3", "V1_2_3", "v1_2_3"),
        Row("HTTP-API", "HTTP_hyphen_API", "HttpApi", "httpApi"),
        Row("HTTPSConnection", "HTTPSConnection", "HTTPSConnection", "httpsConnection"),
        Row("XMLHttpRequest", "XMLHttpRequest", "XMLHttpRequest", "xmlHttpRequest"),
        Row("URL", "URL", "Url", "url"),
        Row("URLs", "URLs", "URLs", "urLs"),
        Row("IDs", "IDs", "IDs", "ids"),
        Row("MSISDNs", "MSISDNs", "MSISDNs", "msisdNs"),
        Row("X-RateLimit-Limit", "X_hyphen_RateLimit_hyphen_Limit", "XRateLimitLimit", "xRateLimitLimit"),
        Row("ETag", "ETag", "ETag", "eTag"),
        Row("IPv4", "IPv4", "IPv4", "iPv4"),
        Row("IPV4", "IPV4", "Ipv4", "ipv4"),
        Row("aBC", "aBC", "ABC", "aBC"),
        Row("Ab_CD", "Ab_CD", "AbCD", "abCD"),
        Row("FOO_bar", "FOO_bar", "FOOBar", "fooBar"),
        Row("FOO1_BAR2", "FOO1_BAR2", "Foo1Bar2", "foo1Bar2"),
        Row("HELLO_World", "HELLO_World", "HELLOWorld", "helloWorld"),
        Row(
            "AWS::EC2::Instance",
            "AWS_colon__colon_EC2_colon__colon_Instance",
            "AWS_colon__colon_EC2_colon__colon_Instance",
            "awS_colon__colon_EC2_colon__colon_Instance"
        ),
        Row("foo--bar", "foo_hyphen__hyphen_bar", "FooBar", "fooBar"),
        Row("foo._bar", "foo_period__bar", "Foo_Bar", "foo_Bar"),
        Row("foo  bar", "foo_space__space_bar", "Foo_space_Bar", "foo_space_Bar"),
        Row("foo{bar}", "foo_lcub_bar_rcub_", "Foobar", "foobar"),
        Row("{id}", "_lcub_id_rcub_", "_lcub_id", "_lcub_id"),
        Row("{user_id}", "_lcub_user_id_rcub_", "_lcub_userId", "_lcub_userId"),
        Row("/pets/{petId}", "_sol_pets_sol__lcub_petId_rcub_", "_sol_petsPetId", "_sol_petsPetId"),
        Row("get/pets", "get_sol_pets", "GetPets", "getPets"),
        Row(
            "post/a/{id}/{id2}.json",
            "post_sol_a_sol__lcub_id_rcub__sol__lcub_id2_rcub__period_json",
            "PostAIdId2_json",
            "postAIdId2_json"
        ),
        Row("getFoo.bar-baz_qux", "getFoo_period_bar_hyphen_baz_qux", "GetFoo_barBazQux", "getFoo_barBazQux"),
        Row("self", "_self", "_Self", "_self"),
        Row("Self", "_Self", "_Self", "_self"),
        Row("Default", "Default", "Default", "_default"),
        Row("type", "_type", "_Type", "_type"),
        Row("Any", "_Any", "_Any", "any"),
        Row("string", "string", "_String", "string"),
        Row("error", "error", "_Error", "error"),
        Row("async", "async", "Async", "async"),
        Row("init", "_init", "Init", "_init"),
        Row("日本語", "日本語", "日本語", "日本語"),
        Row("😀", "_x1F600_", "_x1F600_", "_x1F600_"),
        Row("foo()", "foo_lpar__rpar_", "Foo_lpar__rpar_", "foo_lpar__rpar_"),
        Row("50%", "_50_percnt_", "_50_percnt_", "_50_percnt_"),
        Row("*", "_ast_", "_ast_", "_ast_"),
        Row("$", "_dollar_", "_dollar_", "_dollar_"),
        Row("..", "_period__period_", "_period__", "_period__"),
        Row("{}", "_lcub__rcub_", "_lcub_", "_lcub_"),
        Row("OAuth2Token", "OAuth2Token", "OAuth2Token", "oAuth2Token"),
        Row("", "_empty", "_Empty_", "_empty_"),
        Row("_", "_underscore_", "_underscore_", "_underscore_"),
    ]

    @Test(arguments: rows)
    func namesFollowTheStrategy(row: Row) {
        let defensive = NameAssigner(strategy: .defensive, overrides: [:])
        let idiomatic = NameAssigner(strategy: .idiomatic, overrides: [:])
        #expect(defensive.typeName(row.name) == row.defensive)
        #expect(defensive.memberName(row.name) == row.defensive)
        #expect(idiomatic.typeName(row.name) == row.type)
        #expect(idiomatic.memberName(row.name) == row.member)
    }

    struct ContentRow: Sendable, CustomTestStringConvertible {
        var mediaType: String
        var defensive: String
        var idiomatic: String
        var isJSON: Bool

        init(_ mediaType: String, _ defensive: String, _ idiomatic: String, isJSON: Bool) {
            self.mediaType = mediaType
            self.defensive = defensive
            self.idiomatic = idiomatic
            self.isJSON = isJSON
        }

        var testDescription: String { mediaType }
    }

    static let contentRows: [ContentRow] = [
        ContentRow("Application/JSON", "json", "json", isJSON: true),
        ContentRow(
            "application/json; charset=utf-8",
            "application_json_charset_utf_hyphen_8",
            "applicationJsonCharsetUtf8",
            isJSON: true
        ),
        ContentRow("application/json; foo=bar", "application_json_foo_bar", "applicationJsonFooBar", isJSON: true),
        ContentRow("application/problem+json", "application_problem_plus_json", "applicationProblemJson", isJSON: true),
        ContentRow(
            "application/vnd.github.v3+json",
            "application_vnd_period_github_period_v3_plus_json",
            "applicationVnd_github_v3Json",
            isJSON: true
        ),
        ContentRow(
            "application/merge-patch+json",
            "application_merge_hyphen_patch_plus_json",
            "applicationMergePatchJson",
            isJSON: true
        ),
        ContentRow(
            "application/vnd.api+json; v=2",
            "application_vnd_period_api_plus_json_v__2",
            "applicationVnd_apiJsonV_2",
            isJSON: true
        ),
        ContentRow("multipart/mixed", "multipart_mixed", "multipartMixed", isJSON: false),
        ContentRow(
            "text/plain; charset=utf-8",
            "text_plain_charset_utf_hyphen_8",
            "textPlainCharsetUtf8",
            isJSON: false
        ),
        ContentRow("text/event-stream", "text_event_hyphen_stream", "textEventStream", isJSON: false),
        ContentRow("application/jsonl", "application_jsonl", "applicationJsonl", isJSON: false),
        ContentRow("application/x-ndjson", "application_x_hyphen_ndjson", "applicationXNdjson", isJSON: false),
        ContentRow("application/json-seq", "application_json_hyphen_seq", "applicationJsonSeq", isJSON: false),
        ContentRow("image/*", "image__ast_", "image_Ast_", isJSON: false),
        ContentRow("image/svg+xml", "image_svg_plus_xml", "imageSvgXml", isJSON: false),
        ContentRow("text/xml", "text_xml", "textXml", isJSON: false),
        ContentRow("APPLICATION/Foo", "APPLICATION_Foo", "applicationFoo", isJSON: false),
        ContentRow(
            "application/1d-interleaved-parityfec",
            "application__1d_hyphen_interleaved_hyphen_parityfec",
            "application_1DInterleavedParityfec",
            isJSON: false
        ),
    ]

    @Test(arguments: contentRows)
    func mediaTypesHaveNames(row: ContentRow) throws {
        let mediaType = try #require(MediaTypeName(row.mediaType))
        #expect(NameAssigner(strategy: .defensive, overrides: [:]).contentName(mediaType) == row.defensive)
        #expect(NameAssigner(strategy: .idiomatic, overrides: [:]).contentName(mediaType) == row.idiomatic)
        #expect((mediaType.coding == .json) == row.isJSON)
    }

    @Test func overridesAreUsedAsTheyAre() {
        let names = NameAssigner(strategy: .idiomatic, overrides: ["do_it": "performIt", "application/json": "wrong"])
        #expect(names.typeName("do_it") == "performIt")
        #expect(names.memberName("do_it") == "performIt")
        #expect(MediaTypeName("application/json").map(names.contentName) == "json")
    }

    @Test func laterNamesGiveWay() {
        var scope = NameScope()
        #expect(["a", "a", "b", "a", "a_2"].map { scope.claim($0) } == ["a", "a_2", "b", "a_3", "a_2_2"])
    }
}
