/// What happens to an old record that a move has left, after its copy was deleted here: it goes with the copy.
enum OldRecordFate {
    /// Whether the copy is deleted, or comes back, is not known yet.
    case open
    /// The copy is back: the move goes on. It takes over what was changed in the old record, and deletes it.
    case moves
    /// The copy is gone, deleted here or elsewhere: the record is deleted, and the old one with it.
    case isDeleted

    /// Decides about an old record: a pure function.
    ///
    /// - Parameters:
    ///   - isCopyOpen: Whether the delete of the copy is pending, or was taken back and the copy not looked up yet.
    ///   - hasCopy: Whether this file has a row of the record in another zone.
    ///   - isRead: Whether all zones were read: the copy may be in one of them.
    init(isCopyOpen: Bool, hasCopy: Bool, isRead: Bool) {
        self =
            switch (isCopyOpen, hasCopy, isRead) {
            case (true, _, _), (false, false, false): .open
            case (false, true, _): .moves
            case (false, false, true): .isDeleted
            }
    }
}
