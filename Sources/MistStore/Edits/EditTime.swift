/// When a field was edited, and on which device: what decides between two edits.
///
/// Times are of a hybrid logical clock in the service's time: at least the machine's clock as corrected, and later than
/// everything the device has heard of. The device breaks ties, so that all devices choose the same winner.
struct EditTime: Hashable, Sendable, Comparable {
    /// Milliseconds since 1970, in the service's time.
    var milliseconds: Int64
    /// The copy of the store that made the edit; 0 where a program made it that does not write edit times.
    var device: Int64

    static func < (left: EditTime, right: EditTime) -> Bool {
        (left.milliseconds, left.device) < (right.milliseconds, right.device)
    }

    /// How far an edit may be later than the version of the record that it is in, in milliseconds: five minutes.
    ///
    /// A later one comes from a wrong clock. Every reader takes it for an edit of this limit, so that all agree.
    static let tolerance: Int64 = 5 * 60 * 1000

    /// The same, not later than a version allows.
    func clamped(toVersionOf modified: Int64) -> EditTime {
        EditTime(milliseconds: min(milliseconds, modified + Self.tolerance), device: device)
    }
}
