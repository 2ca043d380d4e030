import Foundation
import StreamingJSON
import Testing

/// Reads JSON as a type and expects that the value writes JSON of the same meaning, and reads as the same value again.
///
/// Meaning is judged by another parser than ours.
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

/// What Foundation's JSONSerialization makes of JSON.
func foundationObject(_ bytes: [UInt8]) throws -> NSObject {
    let object = try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
    return try #require(object as? NSObject)
}

/// The folder of recorded data beside the package, or where `MISTKIT_SHARED` says.
enum SharedFolder {
    static let url: URL = {
        if let path = ProcessInfo.processInfo.environment["MISTKIT_SHARED"] {
            return URL(filePath: path, directoryHint: .isDirectory)
        }
        var folder = URL(filePath: #filePath).deletingLastPathComponent()
        while folder.path != "/",
            !FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path)
        {
            folder.deleteLastPathComponent()
        }
        return folder.deletingLastPathComponent().appending(path: "shared")
    }()

    static let hasRecordedExchanges = FileManager.default.fileExists(
        atPath: url.appending(path: "recorded-exchanges").path
    )

    static func recorded(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: url.appending(path: "recorded-exchanges/\(name).json")))
    }
}

/// SplitMix64: random numbers that a seed repeats.
struct SeededGenerator: RandomNumberGenerator {
    /// The seed of this run: `MISTKIT_SEED`, or a new one, which failing tests print.
    static let seed: UInt64 =
        ProcessInfo.processInfo.environment["MISTKIT_SEED"].flatMap { UInt64($0) } ?? .random(in: .min ... .max)

    private var state: UInt64

    init(_ seed: UInt64 = SeededGenerator.seed) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
