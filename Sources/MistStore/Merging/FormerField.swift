/// One of the two values that a renamed field has at the service: under its name, or under its former one.
struct FormerField: Hashable {
    var value: FieldValue?
    /// When the value was edited; `nil` where no device has noted it.
    var noted: EditTime?
    /// Whether the value differs from that in the version that this device knew before; `false` where it knew no
    /// version.
    var isChanged = false

    /// Decides whether the value under the former name counts. It does when the present name has no value, or an older
    /// one.
    ///
    /// Programs that know both names write both values. So the values differ only after another program has written one
    /// of them.
    ///
    /// - Parameters:
    ///   - former: The value under the former name.
    ///   - current: The value under the present name.
    ///   - modified: When the version was made, in milliseconds since 1970. It is the time of a value without a noted
    ///     time.
    /// - Returns: Whether the value under the former name counts.
    static func counts(_ former: FormerField, over current: FormerField, modified: Int64) -> Bool {
        guard !former.value.isSame(as: current.value) else { return false }
        if former.value?.present == nil, former.noted == nil { return false }
        if current.value?.present == nil, current.noted == nil { return true }
        let unknown = EditTime(milliseconds: modified, device: 0)
        let (left, right) = (former.noted ?? unknown, current.noted ?? unknown)
        return left == right ? former.isChanged && !current.isChanged : left > right
    }
}
