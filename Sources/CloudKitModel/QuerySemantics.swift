#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// How queries compare values; ``holds(_:of:)`` is beside the tests of fields. The emulator and the store use it.
///
/// It has switches where sources disagree about the service.
package struct QuerySemantics: Sendable {
    /// Which text of a list a comparator for the beginning of its members looks at.
    package enum Members: Sendable {
        case any, first
    }

    /// The words of a text, as a search compares them.
    let words: @Sendable (String) -> Set<String>
    let ignoresCaseOfPrefixes: Bool
    let members: Members

    /// Chooses how values are compared.
    ///
    /// - Parameters:
    ///   - ignoresCaseOfPrefixes: Whether a text begins with another one if only upper and lower case differ.
    ///   - members: The texts of a list of which one must begin with a text.
    ///   - words: The words of a text: `searchWords(in:)` of `SearchWords`. It needs all of Foundation, which clients do
    ///     not link.
    package init(
        ignoresCaseOfPrefixes: Bool = false,
        members: Members = .any,
        words: @escaping @Sendable (String) -> Set<String>
    ) {
        self.words = words
        self.ignoresCaseOfPrefixes = ignoresCaseOfPrefixes
        self.members = members
    }

    /// Whether all of the wanted words, or any of them, are among some words.
    package static func has(_ wanted: some Sequence<String>, all: Bool, among words: Set<String>) -> Bool {
        all ? wanted.allSatisfy(words.contains) : wanted.contains(where: words.contains)
    }

    static func areEqual(_ left: FieldValue, _ right: FieldValue) -> Bool {
        if case .reference(let left) = left, case .reference(let right) = right {
            // The action is not compared, and the zones are compared only where both references name one.
            if let zone = left.zoneID?.zoneName, let other = right.zoneID?.zoneName, zone != other { return false }
            return left.recordName == right.recordName
        }
        guard let left = OrderedValue(left), let right = OrderedValue(right) else { return false }
        return left == right
    }

    func begins(_ text: String, with prefix: String) -> Bool {
        if ignoresCaseOfPrefixes {
            return text.lowercased().utf8.starts(with: prefix.lowercased().utf8)
        }
        return text.utf8.starts(with: prefix.utf8)
    }
}

// MARK: - The parts of an index that have all matches

extension QuerySemantics {
    /// The first text after all texts that begin with `prefix`, in the order of their bytes, which is the order of their
    /// scalars; `nil` where there is no such text.
    package static func successor(of prefix: String) -> String? {
        var scalars = prefix.unicodeScalars
        while let last = scalars.popLast() {
            // The scalars skip the surrogates, and end at U+10FFFF.
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
            if let scalar = Unicode.Scalar(next) {
                scalars.append(scalar)
                return String(scalars)
            }
        }
        return nil
    }

    /// The mean radius of the Earth, in metres.
    private static let earthRadius = 6_371_008.8

    /// The distance between two locations on a spherical Earth, in metres, by the haversine formula.
    package static func distance(from start: Location, to end: Location) -> Double {
        let (latitude1, latitude2) = (start.latitude * .pi / 180, end.latitude * .pi / 180)
        let sineOfLatitude = sin((latitude2 - latitude1) / 2)
        let sineOfLongitude = sin((end.longitude - start.longitude) * .pi / 360)
        let haversine =
            sineOfLatitude * sineOfLatitude + cos(latitude1) * cos(latitude2) * sineOfLongitude * sineOfLongitude
        return 2 * earthRadius * asin(min(1, haversine.squareRoot()))
    }

    /// The latitudes and longitudes of all locations within a distance.
    ///
    /// The ranges are a little wider than needed, so that rounding leaves no location out.
    ///
    /// - Parameters:
    ///   - center: A location on Earth.
    ///   - metres: The distance.
    /// - Returns: The longitudes are `nil` where a pole or the 180th meridian is near.
    package static func box(
        around center: Location,
        metres: Double
    ) -> (latitude: ClosedRange<Double>, longitude: ClosedRange<Double>?) {
        let angle = metres / earthRadius * 1.000_001 + 1e-9
        let degrees = angle * 180 / .pi
        let latitude = center.latitude - degrees...center.latitude + degrees
        let ratio = sin(min(angle, .pi / 2)) / cos(center.latitude * .pi / 180)
        guard latitude.lowerBound > -90, latitude.upperBound < 90, ratio < 1 else { return (latitude, nil) }
        let width = asin(ratio) * 180 / .pi
        guard center.longitude - width > -180, center.longitude + width < 180 else { return (latitude, nil) }
        return (latitude, center.longitude - width...center.longitude + width)
    }
}

extension Location {
    /// Whether latitude and longitude are within their ranges.
    package var isOnEarth: Bool { abs(latitude) <= 90 && abs(longitude) <= 180 }
}

// MARK: - The order of values

/// A value as queries compare it: in the order of SQLite.
///
/// Integers and floating-point numbers are compared by value: 10 equals 10.0.
package enum OrderedValue: Hashable, Sendable {
    case integer(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
}

extension OrderedValue: Comparable {
    /// SQLite's order: numbers, then text by its UTF-8 bytes, then bytes.
    package static func < (left: OrderedValue, right: OrderedValue) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left < right
        case (.real(let left), .real(let right)): left < right
        case (.integer(let left), .real(let right)): isLess(left, right)
        case (.real(let left), .integer(let right)): !isLess(right, left) && Int64(exactly: left) != right
        case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
        case (.bytes(let left), .bytes(let right)): left.lexicographicallyPrecedes(right)
        default: left.rank < right.rank
        }
    }

    package static func == (left: OrderedValue, right: OrderedValue) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left == right
        case (.integer(let left), .real(let right)): Int64(exactly: right) == left
        case (.real(let left), .integer(let right)): Int64(exactly: left) == right
        case (.text(let left), .text(let right)): left.utf8.elementsEqual(right.utf8)
        case (.bytes(let left), .bytes(let right)): left == right
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .integer(let value): hasher.combine(value)
        case .real(let value):
            if let whole = Int64(exactly: value) { hasher.combine(whole) } else { hasher.combine(value) }
        case .text(let value): hasher.combine(value)
        case .bytes(let value): hasher.combine(value)
        }
    }

    /// Whether an integer is less than a floating-point number. The result is exact, although a double cannot represent
    /// every integer.
    private static func isLess(_ left: Int64, _ right: Double) -> Bool {
        if right >= 0x1p63 { return true }
        guard right > -0x1p63 else { return false }
        let whole = Int64(right)
        return left == whole ? Double(whole) < right : left < whole
    }

    private var rank: Int {
        switch self {
        case .integer, .real: 0
        case .text: 1
        case .bytes: 2
        }
    }
}
