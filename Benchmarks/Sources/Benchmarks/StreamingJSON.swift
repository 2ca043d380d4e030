import Foundation
import StreamingJSON

/// Skips one value and builds nothing.
private struct Skipped: JSONReadable {
    init(json reader: inout JSONReader) throws(JSONError) {
        try reader.skipValue()
    }
}

/// Measures JSON without types: checking it, making a tree of it, and writing the tree.
func measureTrees(of bytes: [UInt8], rounds: Int) async throws -> [(String, Double)] {
    let data = Data(bytes)
    let tree = try JSONReader.read(JSONValue.self, from: bytes)
    let object = try JSONSerialization.jsonObject(with: data)
    let contenders = [
        Contender(name: "skipValue: check all, build nothing") {
            _ = try JSONReader.read(Skipped.self, from: bytes)
            return 1
        },
        Contender(name: "JSONValue, read") { try JSONReader.read(JSONValue.self, from: bytes).objectValue?.count ?? 0 },
        Contender(name: "JSONSerialization, read") {
            (try JSONSerialization.jsonObject(with: data) as? [String: Any])?.count ?? 0
        },
        Contender(name: "JSONValue, write") { try JSONWriter.bytes(of: tree).count },
        Contender(name: "JSONSerialization, write") { try JSONSerialization.data(withJSONObject: object).count },
    ]
    return zip(contenders, try await medians(of: contenders, rounds: rounds)).map { ($0.name, $1) }
}
