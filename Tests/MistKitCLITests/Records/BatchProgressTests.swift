import MistKit
import Testing

@testable import MistKitCLI

struct BatchProgressTests {
    @Test func aBarShowsHowManyAreDone() {
        let progress = BatchProgress(completed: 1000, failed: 2, total: 4000)
        #expect(
            BatchProgressLine.bar(progress, "deleted") == "[#####---------------] 998 of 4000 records deleted, 2 failed"
        )
        let none = BatchProgress(completed: 0, failed: 0, total: 400)
        #expect(BatchProgressLine.bar(none, "changed") == "[--------------------] 0 of 400 records changed")
    }

    @Test func ctrlCSaysHowManyAreDone() {
        let progress = BatchProgress(completed: 600, failed: 0, total: 4000)
        #expect(
            BatchProgressLine.interruption(progress, "deleted").hasPrefix(
                "Stopped: 600 of 4000 records are deleted, and "
            )
        )
    }
}
