import Testing

@testable import MistStore

/// What happens to an old record whose copy was deleted here.
struct OldRecordFateTests {
    struct Case: Sendable {
        let isCopyOpen: Bool
        let hasCopy: Bool
        let isRead: Bool
        let fate: OldRecordFate
    }

    static let cases = [
        Case(isCopyOpen: true, hasCopy: false, isRead: false, fate: .open),
        Case(isCopyOpen: true, hasCopy: false, isRead: true, fate: .open),
        Case(isCopyOpen: true, hasCopy: true, isRead: false, fate: .open),
        Case(isCopyOpen: true, hasCopy: true, isRead: true, fate: .open),
        Case(isCopyOpen: false, hasCopy: false, isRead: false, fate: .open),
        Case(isCopyOpen: false, hasCopy: false, isRead: true, fate: .isDeleted),
        Case(isCopyOpen: false, hasCopy: true, isRead: false, fate: .moves),
        Case(isCopyOpen: false, hasCopy: true, isRead: true, fate: .moves),
    ]

    @Test("11, 40. An old record goes with its copy", arguments: cases)
    func fates(_ example: Case) {
        let fate = OldRecordFate(
            isCopyOpen: example.isCopyOpen,
            hasCopy: example.hasCopy,
            isRead: example.isRead
        )
        #expect(fate == example.fate)
    }
}
