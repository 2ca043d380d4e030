import CelestraFeeds
import Testing

struct ReadingTimeTests {
    @Test(arguments: [
        ("", 0), ("one", 1), ("one two", 2), ("don't stop-start", 2), ("日本語", 3), ("a, b; c.", 3), ("— – …", 0),
        ("1,5", 2),
    ])
    func wordsAreCounted(text: String, count: Int) {
        #expect(ReadingTime.wordCount(of: text) == count)
    }

    @Test(arguments: [(-1, 1), (0, 1), (1, 1), (200, 1), (201, 2), (1000, 5)])
    func readingTakesAtLeastAMinute(words: Int, minutes: Int) {
        #expect(ReadingTime.minutes(forWords: words) == minutes)
    }
}
