import CloudKitModel
import Foundation

/// The mean radius of the Earth, in metres.
let earthRadius = 6_371_008.8

/// The distance between two locations on a spherical Earth, in metres.
func distance(from start: Location, to end: Location) -> Double {
    let (latitude1, latitude2) = (start.latitude * .pi / 180, end.latitude * .pi / 180)
    let sineOfLatitude = sin((latitude2 - latitude1) / 2)
    let sineOfLongitude = sin((end.longitude - start.longitude) * .pi / 360)
    let haversine =
        sineOfLatitude * sineOfLatitude + cos(latitude1) * cos(latitude2) * sineOfLongitude * sineOfLongitude
    return 2 * earthRadius * asin(min(1, haversine.squareRoot()))
}

extension Location {
    /// Whether latitude and longitude are within their ranges.
    var isOnEarth: Bool { abs(latitude) <= 90 && abs(longitude) <= 180 }
}
