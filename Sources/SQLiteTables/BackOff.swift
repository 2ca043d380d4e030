/// The waits between attempts at what failed.
package struct BackOff: Hashable, Sendable {
    let shortest: Duration
    let longest: Duration

    /// Makes waits of at most a second, two, four, … up to five minutes.
    ///
    /// - Parameters:
    ///   - shortest: The most that is waited after the first attempt.
    ///   - longest: The most that is waited after any attempt.
    package init(shortest: Duration = .seconds(1), longest: Duration = .seconds(300)) {
        self.shortest = shortest
        self.longest = longest
    }

    /// The wait after an attempt, in milliseconds: random, up to a limit that doubles with each attempt.
    ///
    /// - Parameters:
    ///   - attempt: The number of the attempt, from 1.
    ///   - random: A random number from 0 up to 1.
    /// - Returns: The wait.
    package func wait(after attempt: Int, random: Double) -> Int64 {
        let doubled = Double(shortest.milliseconds) * Double(1 << min(max(attempt - 1, 0), 40))
        return Int64(min(doubled, Double(longest.milliseconds)) * random)
    }
}
