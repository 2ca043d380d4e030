import CloudKitModel
import StreamingJSON
import Testing

struct RecordTests {
    @Test func aRecordIsWrittenWithTaggedFields() throws {
        var note = Record(recordType: "Note", recordName: "A")
        note["title"] = "Hello"
        note["count"] = 3
        note["rating"] = 4.0
        note["tags"] = .list(["a", "b"])
        note["secret"] = .encrypted("x")
        note["old"] = .null
        let json = String(decoding: try JSONWriter.bytes(of: note), as: UTF8.self)
        #expect(
            json
                == #"{"recordName":"A","recordType":"Note","fields":{"title":{"value":"Hello","type":"STRING"},"#
                + #""count":{"value":3,"type":"INT64"},"rating":{"value":4.0,"type":"DOUBLE"},"#
                + #""tags":{"value":["a","b"],"type":"STRING_LIST"},"#
                + #""secret":{"value":"x","type":"STRING","isEncrypted":true},"old":{"value":null}}}"#
        )
        #expect(try JSONReader.read(Record.self, from: json) == note)
        #expect(note["title"]?.stringValue == "Hello")
    }
}
