import Foundation

// The model that a careful programmer writes for JSONDecoder and JSONEncoder: it reads a field's type first and then
// the value as that type, with no attempt at a second type. It is the baseline of these benchmarks.

struct CodablePage: Codable {
    var records: [CodableRecord]
    var continuationMarker: String?
    var syncToken: String?
}

struct CodableModifyRequest: Codable {
    var operations: [CodableOperation]
    var zoneID: CodableZoneID?
    var atomic: Bool?
}

struct CodableOperation: Codable {
    var operationType: String
    var record: CodableRecord
}

struct CodableRecord: Codable {
    var recordName: String?
    var recordType: String?
    var fields: [String: CodableField]
    var pluginFields: [String: CodableField]?
    var recordChangeTag: String?
    var created: CodableStamp?
    var modified: CodableStamp?
    var deleted: Bool?
    var zoneID: CodableZoneID?
}

struct CodableStamp: Codable {
    var timestamp: Int64
    var userRecordName: String?
    var deviceID: String?
}

struct CodableZoneID: Codable {
    var zoneName: String
    var ownerRecordName: String?
    var zoneType: String?
}

struct CodableReference: Codable {
    var recordName: String
    var action: String?
    var zoneID: CodableZoneID?
}

struct CodableAsset: Codable {
    var fileChecksum: String?
    var size: Int64?
    var wrappingKey: String?
    var referenceChecksum: String?
    var downloadURL: String?
    var receipt: String?
}

struct CodableLocation: Codable {
    var latitude: Double
    var longitude: Double
    var horizontalAccuracy: Double?
    var verticalAccuracy: Double?
    var altitude: Double?
    var speed: Double?
    var course: Double?
    var timestamp: Int64?
}

enum CodableField: Codable {
    case string(String)
    case int64(Int64)
    case double(Double)
    case timestamp(Int64)
    case bytes(String)
    case encryptedBytes(String)
    case reference(CodableReference)
    case asset(CodableAsset)
    case location(CodableLocation)
    case stringList([String])
    case int64List([Int64])
    case doubleList([Double])
    case null

    fileprivate enum CodingKeys: String, CodingKey {
        case value, type
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard let type = try container.decodeIfPresent(String.self, forKey: .type) else {
            self = .null
            return
        }
        switch type {
        case "STRING": self = .string(try container.decode(String.self, forKey: .value))
        case "INT64": self = .int64(try container.decode(Int64.self, forKey: .value))
        case "DOUBLE": self = .double(try container.decode(Double.self, forKey: .value))
        case "TIMESTAMP": self = .timestamp(try container.decode(Int64.self, forKey: .value))
        case "BYTES": self = .bytes(try container.decode(String.self, forKey: .value))
        case "ENCRYPTED_BYTES": self = .encryptedBytes(try container.decode(String.self, forKey: .value))
        case "REFERENCE": self = .reference(try container.decode(CodableReference.self, forKey: .value))
        case "ASSETID", "ASSET": self = .asset(try container.decode(CodableAsset.self, forKey: .value))
        case "LOCATION": self = .location(try container.decode(CodableLocation.self, forKey: .value))
        case "STRING_LIST": self = .stringList(try container.decode([String].self, forKey: .value))
        case "INT64_LIST": self = .int64List(try container.decode([Int64].self, forKey: .value))
        case "DOUBLE_LIST": self = .doubleList(try container.decode([Double].self, forKey: .value))
        default:
            throw DecodingError.dataCorruptedError(forKey: .type, in: container, debugDescription: "type \(type)")
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .string(let value): try container.encode(value, "STRING")
        case .int64(let value): try container.encode(value, "INT64")
        case .double(let value): try container.encode(value, "DOUBLE")
        case .timestamp(let value): try container.encode(value, "TIMESTAMP")
        case .bytes(let value): try container.encode(value, "BYTES")
        case .encryptedBytes(let value): try container.encode(value, "ENCRYPTED_BYTES")
        case .reference(let value): try container.encode(value, "REFERENCE")
        case .asset(let value): try container.encode(value, "ASSETID")
        case .location(let value): try container.encode(value, "LOCATION")
        case .stringList(let value): try container.encode(value, "STRING_LIST")
        case .int64List(let value): try container.encode(value, "INT64_LIST")
        case .doubleList(let value): try container.encode(value, "DOUBLE_LIST")
        case .null: try container.encodeNil(forKey: .value)
        }
    }
}

extension KeyedEncodingContainer where Key == CodableField.CodingKeys {
    fileprivate mutating func encode(_ value: some Encodable, _ type: String) throws {
        try encode(value, forKey: .value)
        try encode(type, forKey: .type)
    }
}
