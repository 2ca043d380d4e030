import CloudKitSchema
import Testing

struct RecordModelsTests {
    @Test func everyTypeOfTheLanguageHasAPropertyType() throws {
        let schema = try ContainerSchema(
            parsing: """
                DEFINE SCHEMA
                RECORD TYPE Users (roles LIST<INT64>);
                RECORD TYPE Everything (
                    "___recordID" REFERENCE QUERYABLE,
                    a ASSET, b BYTES, c DOUBLE, d INT64 SORTABLE, e LOCATION, f REFERENCE QUERYABLE,
                    g STRING QUERYABLE SORTABLE SEARCHABLE, h TIMESTAMP, i ENCRYPTED STRING, j NUMBER,
                    k NUMBER PREFERRED AS INT64, l LIST<STRING> QUERYABLE, m LIST<ENCRYPTED TIMESTAMP>
                );
                """
        )
        let files = RecordModels(of: schema).files
        #expect(files.map(\.name) == ["Everything.swift"])
        #expect(
            files.first?.source == """
                import Foundation
                import MistModels

                /// A record of the type `Everything`.
                @CloudKitRecord
                struct Everything: Hashable {
                    var a: Asset?
                    var b: Data?
                    var c: Double?
                    @CloudKitField(.sortable) var d: Int?
                    var e: Location?
                    @CloudKitField(.queryable) var f: Reference?
                    @CloudKitField(.queryable, .sortable, .searchable) var g: String?
                    var h: Date?
                    @CloudKitField(.encrypted) var i: String?
                    var j: Double?
                    var k: Int?
                    @CloudKitField(.queryable) var l: [String] = []
                    @CloudKitField(.encrypted) var m: [Date] = []
                }

                """
        )
    }

    @Test func namesBecomeThoseOfSwift() throws {
        let schema = try ContainerSchema(
            parsing: """
                DEFINE SCHEMA
                RECORD TYPE CD_Entity (
                    CD_entityName STRING QUERYABLE, "default" STRING, title STRING, Title STRING, "URL" STRING,
                    URLString STRING, created TIMESTAMP, body_text STRING, "self" INT64, feedURL STRING
                );
                RECORD TYPE feed_item (f STRING);
                RECORD TYPE Data (f STRING);
                RECORD TYPE FeedItem (f STRING);
                """
        )
        let files = RecordModels(of: schema).files
        #expect(files.map(\.name) == ["CDEntity.swift", "FeedItem.swift", "DataRecord.swift", "FeedItemRecord.swift"])
        #expect(
            files.first?.source == """
                import Foundation
                import MistModels

                /// A record of the type `CD_Entity`.
                @CloudKitRecord("CD_Entity")
                struct CDEntity: Hashable {
                    @CloudKitField("CD_entityName", .queryable) var cdEntityName: String?
                    var `default`: String?
                    var title: String?
                    @CloudKitField("Title") var titleValue: String?
                    @CloudKitField("URL") var url: String?
                    @CloudKitField("URLString") var urlString: String?
                    @CloudKitField("created") var createdValue: Date?
                    @CloudKitField("body_text") var bodyText: String?
                    @CloudKitField("self") var selfValue: Int?
                    var feedURL: String?
                }

                """
        )
        #expect(files.last?.source.contains("@CloudKitRecord(\"FeedItem\")\nstruct FeedItemRecord: Hashable {") == true)
    }

    @Test func someTypesOnlyHaveTheNamesThatAllHave() throws {
        let schema = try ContainerSchema(
            parsing: "DEFINE SCHEMA RECORD TYPE feed_item (f STRING); RECORD TYPE FeedItem (f STRING);"
        )
        #expect(RecordModels(of: schema, recordTypes: ["FeedItem"]).files == [RecordModels(of: schema).files[1]])
    }
}
