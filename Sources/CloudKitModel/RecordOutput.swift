package import StreamingJSON

/// One item of a response about records: as a client reads it, or as a server writes it.
///
/// Reading makes a ``RecordResult`` always.
package enum RecordOutput: Hashable, Sendable {
    /// The record or its error, as values.
    case result(RecordResult)
    /// A record of a storage, whose fields are written as they are stored.
    case stored(StoredRecordOutput)

    /// The record or its error, as values. A stored record is read as a client would read it.
    package var result: RecordResult {
        switch self {
        case .result(let result): return result
        case .stored(let output):
            do throws(JSONError) {
                return .success(try JSONRawValue(output).read(Record.self))
            } catch {
                return .failure(
                    RecordError(
                        id: output.recordName,
                        serverErrorCode: .internalError,
                        reason: "the stored record is not valid JSON: \(error)"
                    )
                )
            }
        }
    }

    /// The record's name; `nil` if the service did not send it.
    package var recordName: String? {
        switch self {
        case .result(let result): result.itemID
        case .stored(let output): output.recordName
        }
    }
}

extension RecordOutput: JSONBackedCodable {
    /// Reads a record dictionary or an error dictionary.
    package init(json reader: inout JSONReader) throws(JSONError) {
        self = .result(try RecordResult(json: &reader))
    }

    /// Writes the record dictionary or the error dictionary.
    package func write(json writer: inout JSONWriter) {
        switch self {
        case .result(let result): result.write(json: &writer)
        case .stored(let output): output.write(json: &writer)
        }
    }
}

/// A record that a server sends from its storage. It can only be written: its content is not parsed.
package struct StoredRecordOutput: JSONWritable, Hashable, Sendable {
    package var recordName: String
    package var recordType: String?
    package var recordChangeTag: String
    package var created: Record.Stamp
    package var modified: Record.Stamp
    package var zoneID: ZoneID?
    /// An object with the fields and the members of sharing, in the form of a reply.
    package var content: JSONRawValue

    package init(
        recordName: String,
        recordType: String?,
        recordChangeTag: String,
        created: Record.Stamp,
        modified: Record.Stamp,
        zoneID: ZoneID?,
        content: JSONRawValue
    ) {
        self.recordName = recordName
        self.recordType = recordType
        self.recordChangeTag = recordChangeTag
        self.created = created
        self.modified = modified
        self.zoneID = zoneID
        self.content = content
    }

    /// Writes the record dictionary: the members of the content, and around them what the service keeps.
    package func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("recordName")
        writer.write(recordName)
        if let recordType {
            writer.key("recordType")
            writer.write(recordType)
        }
        writer.writeMembers(of: content)
        writer.key("pluginFields")
        writer.beginObject()
        writer.endObject()
        writer.key("recordChangeTag")
        writer.write(recordChangeTag)
        writer.key("created")
        created.write(json: &writer)
        writer.key("modified")
        modified.write(json: &writer)
        writer.key("deleted")
        writer.write(false)
        if let zoneID {
            writer.key("zoneID")
            zoneID.write(json: &writer)
        }
        writer.endObject()
    }
}
