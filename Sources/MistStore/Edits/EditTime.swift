/// When a field was edited, and on which device. Of two edits, the one with the greater `EditTime` wins.
///
/// Times are those of a hybrid logical clock in the service's time: not before the machine's corrected clock, and later
/// than every time that the device has received. The device's number breaks ties, so that all devices choose the same
/// winner.
struct EditTime: Hashable, Sendable, Comparable {
    /// Milliseconds since 1970, in the service's time.
    var milliseconds: Int64
    /// The number of the store's file in which the edit was made; 0 for a program that does not write edit times.
    var device: Int64

    static func < (left: EditTime, right: EditTime) -> Bool {
        (left.milliseconds, left.device) < (right.milliseconds, right.device)
    }

    /// How much later an edit may be than the version of the record that contains it, in milliseconds: five minutes.
    ///
    /// An edit that is later than this comes from a wrong clock. Every device reads its time as this limit, so that all
    /// agree.
    static let tolerance: Int64 = 5 * 60 * 1000

    /// This time, or the latest time that a version allows, if that is earlier.
    func clamped(toVersionOf modified: Int64) -> EditTime {
        EditTime(milliseconds: min(milliseconds, modified + Self.tolerance), device: device)
    }
}
