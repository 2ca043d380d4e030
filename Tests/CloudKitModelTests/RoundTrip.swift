import Foundation
import StreamingJSON
import Testing

/// Reads JSON as a type. Expects that the value writes equivalent JSON, which reads as an equal value.
///
/// Foundation's parser decides whether the JSON is equivalent.
@discardableResult
func expectRoundTrip<Value: JSONReadable & JSONWritable & Equatable>(
    _ type: Value.Type,
    _ json: String,
    _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> Value {
    let value = try JSONReader.read(Value.self, from: json)
    let written = try JSONWriter.bytes(of: value)
    #expect(
        try foundationObject(written).isEqual(try foundationObject(Array(json.utf8))),
        "\(String(decoding: written, as: UTF8.self)) \(comment ?? "")",
        sourceLocation: sourceLocation
    )
    #expect(try JSONReader.read(Value.self, from: written) == value, comment, sourceLocation: sourceLocation)
    return value
}

/// The result of Foundation's JSONSerialization.
func foundationObject(_ bytes: [UInt8]) throws -> NSObject {
    let object = try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
    return try #require(object as? NSObject)
}
