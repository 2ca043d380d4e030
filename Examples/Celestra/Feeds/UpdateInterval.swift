/// How long a client should wait between two requests for a feed.
enum UpdateInterval {
    /// The seconds that a channel asks for: its `ttl` in minutes, or the period of the syndication module divided by
    /// its frequency.
    static func seconds(of channel: FeedElement) -> Int? {
        if let minutes = channel.first(.core("ttl")).flatMap({ Int($0.text) }), (1...1_000_000).contains(minutes) {
            return minutes * 60
        }
        return seconds(
            period: channel.first(.syndication("updateperiod"))?.text,
            frequency: channel.first(.syndication("updatefrequency"))?.text
        )
    }

    /// The seconds of `updatePeriod` divided by `updateFrequency`, at least 60. The frequency is 1 where it is missing
    /// or not a positive number; the period is a day where only the frequency is there. Returns `nil` if both are
    /// missing, or if the period is unknown.
    static func seconds(period: String?, frequency: String?) -> Int? {
        guard period != nil || frequency != nil else { return nil }
        let lengths = ["hourly": 3600, "daily": 86_400, "weekly": 604_800, "monthly": 2_592_000, "yearly": 31_536_000]
        guard let length = lengths[(period ?? "daily").lowercased()] else { return nil }
        let times = frequency.flatMap { Int($0) } ?? 1
        return max(60, length / max(1, times))
    }
}

/// The duration of a recording.
enum PlayingTime {
    /// The seconds of `H:MM:SS`, `MM:SS` or a number of seconds, or `nil` for another text.
    static func seconds(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count) else { return nil }
        var seconds = 0
        for part in parts {
            // Some recordings have a fraction of a second.
            guard let number = Int(part.prefix { $0 != "." }), (0...1_000_000).contains(number) else { return nil }
            seconds = seconds * 60 + number
        }
        return seconds
    }
}
