import CloudKitModel
import CloudKitSchema
import MistKit
import MistStore
import Testing

struct StoreFieldTests {
    @Test func theFieldOfEditTimesIsAddedOnce() throws {
        let text = "DEFINE SCHEMA RECORD TYPE A (f STRING); RECORD TYPE B (mist_edits BYTES);"
        var schema = try ContainerSchema(parsing: text)
        schema.addStoreFields()
        let fields = schema.recordTypes.map { $0.fields.map { "\($0.name) \($0.type)" } }
        #expect(fields == [["f STRING", "mist_edits BYTES"], ["mist_edits BYTES"]])
    }
}
