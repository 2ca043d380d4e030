public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A location on Earth.
///
/// ```swift
/// Location(latitude: 59.9, longitude: 10.7)
/// // {"latitude":59.9,"longitude":10.7}
/// ```
public struct Location: Hashable, Sendable {
    /// Degrees north of the equator.
    public var latitude: Double
    /// Degrees east of Greenwich.
    public var longitude: Double
    /// The accuracy of latitude and longitude, in metres.
    public var horizontalAccuracy: Double?
    /// The accuracy of the altitude, in metres.
    public var verticalAccuracy: Double?
    /// The altitude above sea level, in metres.
    public var altitude: Double?
    /// The speed, in metres per second.
    public var speed: Double?
    /// The direction of travel, in degrees clockwise from north.
    public var course: Double?
    /// When the location was measured; whole milliseconds on the wire.
    public var timestamp: Date? {
        get { time?.date }
        set { time = newValue.map(WireDate.init) }
    }
    private var time: WireDate?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a location. Parts that are `nil` are left out of the JSON.
    public init(
        latitude: Double,
        longitude: Double,
        horizontalAccuracy: Double? = nil,
        verticalAccuracy: Double? = nil,
        altitude: Double? = nil,
        speed: Double? = nil,
        course: Double? = nil,
        timestamp: Date? = nil
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.altitude = altitude
        self.speed = speed
        self.course = course
        self.time = timestamp.map(WireDate.init)
    }
}

extension Location: JSONBackedCodable {
    private enum Key: String, NounKey {
        case latitude, longitude, horizontalAccuracy, verticalAccuracy, altitude, speed, course, timestamp
    }
    private static let keys = NounKeys<Key>()

    /// Reads a location; `latitude` and `longitude` are required.
    public init(json reader: inout JSONReader) throws(JSONError) {
        self.init(latitude: .nan, longitude: .nan)
        try reader.beginObject()
        let keys = Self.keys
        while let key = try otherKeys.nextKey(in: keys, from: &reader) {
            switch key {
            case .latitude: latitude = try reader.readDouble()
            case .longitude: longitude = try reader.readDouble()
            case .horizontalAccuracy: horizontalAccuracy = try otherKeys.read(key, from: &reader)
            case .verticalAccuracy: verticalAccuracy = try otherKeys.read(key, from: &reader)
            case .altitude: altitude = try otherKeys.read(key, from: &reader)
            case .speed: speed = try otherKeys.read(key, from: &reader)
            case .course: course = try otherKeys.read(key, from: &reader)
            case .timestamp: time = try otherKeys.read(key, from: &reader)
            }
        }
        guard !latitude.isNaN, !longitude.isNaN else {
            throw reader.error(.missingKey, "a location needs \"latitude\" and \"longitude\"")
        }
    }

    /// Writes `{"latitude":…,"longitude":…,…}`.
    public func write(json writer: inout JSONWriter) {
        writer.beginObject()
        writer.key("latitude")
        writer.write(latitude)
        writer.key("longitude")
        writer.write(longitude)
        otherKeys.write("horizontalAccuracy", horizontalAccuracy, to: &writer)
        otherKeys.write("verticalAccuracy", verticalAccuracy, to: &writer)
        otherKeys.write("altitude", altitude, to: &writer)
        otherKeys.write("speed", speed, to: &writer)
        otherKeys.write("course", course, to: &writer)
        otherKeys.write("timestamp", time, to: &writer)
        writer.writeMembers(otherKeys)
        writer.endObject()
    }
}
