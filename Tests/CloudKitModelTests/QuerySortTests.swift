import CloudKitModel
import StreamingJSON
import Testing

/// The location of a sort by distance, in the two forms in which clients send it.
struct QuerySortTests {
    @Test(
        arguments: [
            #"{"fieldName":"at","relativeLocation":{"latitude":59.9,"longitude":10.7}}"#,
            #"{"fieldName":"at","relativeLocation":{"longitude":10.7,"latitude":59.9},"ascending":false}"#,
            #"{"fieldName":"at","relativeLocation":{"value":{"latitude":59.9,"longitude":10.7},"type":"LOCATION"}}"#,
            #"{"fieldName":"at","relativeLocation":{"value":{"latitude":59.9,"longitude":10.7}}}"#,
        ]
    )
    func bothFormsAreTheSameLocationAndAreWrittenAsTheyWereRead(json: String) throws {
        let sort = try JSONReader.read(QuerySort.self, from: json)
        #expect(sort.relativeLocation?.locationValue == Location(latitude: 59.9, longitude: 10.7))
        let written = try JSONReader.read(JSONValue.self, from: JSONWriter.bytes(of: sort))
        #expect(try written == JSONReader.read(JSONValue.self, from: json))
    }

    @Test func aNullIsNoLocation() throws {
        let sort = try JSONReader.read(QuerySort.self, from: #"{"fieldName":"at","relativeLocation":null}"#)
        #expect(sort.relativeLocation == nil)
    }
}
