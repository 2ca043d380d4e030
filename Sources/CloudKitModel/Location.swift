public import StreamingJSON

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A place on Earth.
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
    /// Metres by which the place may be wrong.
    public var horizontalAccuracy: Double?
    /// Metres by which the altitude may be wrong.
    public var verticalAccuracy: Double?
    /// Metres above the sea.
    public var altitude: Double?
    /// Metres a second.
    public var speed: Double?
    /// Degrees, clockwise from north.
    public var course: Double?
    /// When the place was measured; whole milliseconds on the wire.
    public var timestamp: Date? {
        get { time?.date }
        set { time = newValue.map(WireDate.init) }
    }
    private var time: WireDate?
    /// The members that have no property here.
    public var otherKeys = OtherKeys()

    /// Makes a location. Absent parts are left out of the JSON.
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
    private static let keys = JSONKeys(
        "latitude",
        "longitude",
        "horizontalAccuracy",
        "verticalAccuracy",
        "altitude",
        "speed",
        "course",
        "timestamp"
    )

    /// Reads a location; `latitude` and `longitude` are needed.
    public init(json reader: inout JSONReader) throws(JSONError) {
        var location = Location(latitude: .nan, longitude: .nan)
        try location.readMembers(json: &reader)
        self = consume location
    }

    private mutating func readMembers(json reader: inout JSONReader) throws(JSONError) {
        try reader.beginObject()
        let keys = Self.keys
        while let key = try reader.nextKey(in: keys) {
            switch key {
            case 0: latitude = try reader.readDouble()
            case 1: longitude = try reader.readDouble()
            case 2: horizontalAccuracy = try otherKeys.read(key, from: &reader)
            case 3: verticalAccuracy = try otherKeys.read(key, from: &reader)
            case 4: altitude = try otherKeys.read(key, from: &reader)
            case 5: speed = try otherKeys.read(key, from: &reader)
            case 6: course = try otherKeys.read(key, from: &reader)
            case 7: time = try otherKeys.read(key, from: &reader)
            default: try otherKeys.keep(from: &reader)
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
        otherKeys.write(2, "horizontalAccuracy", horizontalAccuracy, to: &writer)
        otherKeys.write(3, "verticalAccuracy", verticalAccuracy, to: &writer)
        otherKeys.write(4, "altitude", altitude, to: &writer)
        otherKeys.write(5, "speed", speed, to: &writer)
        otherKeys.write(6, "course", course, to: &writer)
        otherKeys.write(7, "timestamp", time, to: &writer)
        otherKeys.writeMembers(to: &writer)
        writer.endObject()
    }
}
