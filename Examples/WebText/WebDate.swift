public import struct Foundation.Date

/// Reads the dates of feeds and web pages in many formats.
///
/// It reads ISO 8601 and W3CDTF with calendar, ordinal and week dates, whole or in part; RFC 822, 850 and 2822, also
/// with two-digit years, missing seconds, named zones, wrong weekdays, and the month before the day; `asctime`; SQL
/// timestamps; Korean dates; months in Greek, Hungarian, German, French, Spanish, Italian, Portuguese and Dutch. A date
/// without a zone is in UTC, except that Korean times with 오전 or 오후 are in the zone of Korea.
///
/// ```swift
/// WebDate.parse("Thu, 1 Jan 04 19:48 EST")    // 2004-01-02T00:48:00Z
/// WebDate.parse("2003-W52-3T10:14Z")          // 2003-12-24T10:14:00Z
/// WebDate.parse("31 June 2003")               // nil: June has 30 days
/// ```
public enum WebDate {
    /// The time that the text means, or `nil` if it is not a date. A date without a time means midnight.
    public static func parse(_ text: String) -> Date? {
        guard text.utf8.count <= 200 else { return nil }
        var words = DateWords(text)
        guard let day = words.takeWrittenDate() ?? words.takeISODate() else { return nil }
        var seconds = day * 86_400
        if words.hasTime {
            guard let time = words.takeTime() else { return nil }
            seconds += time - (words.takeZone() ?? 0)
        }
        return Date(timeIntervalSince1970: Double(seconds) + words.fraction)
    }
}

/// The words of a date, which are taken from the front.
struct DateWords {
    /// The fraction of a second in the time that was taken.
    private(set) var fraction = 0.0
    private var words: [Substring]
    private var defaultZone: Int?

    init(_ text: String) {
        var text = text.lowercased()
        if text.contains("년") {
            for (from, to) in [("년", "-"), ("월", "-"), ("일", " "), ("시", ":"), ("분", ":"), ("초", " ")] {
                text = text.split(separator: from, omittingEmptySubsequences: false).joined(separator: to)
            }
            for mark in ["-", ":"] {
                text = text.split(separator: mark + " ", omittingEmptySubsequences: false).joined(separator: mark)
            }
        }
        for (from, to) in [("오전", " am "), ("오후", " pm ")] where text.contains(from) {
            text = text.split(separator: from, omittingEmptySubsequences: false).joined(separator: to)
            defaultZone = 9 * 3600
        }
        words = text.split { $0.isWhitespace || $0 == "," || $0 == "(" || $0 == ")" }
        splitDateAndTime()
    }

    /// Whether words are left that must be a time.
    var hasTime: Bool { words.contains { $0.contains(":") } || words.first?.first?.isNumber == true }

    // MARK: - Days

    /// Takes a date of ISO 8601, and returns its day, counted from 1970-01-01.
    mutating func takeISODate() -> Int? {
        guard let word = words.first, let day = DateWords.isoDay(word) else { return nil }
        words.removeFirst()
        return day
    }

    /// Takes a date with the month's name, in any order, and returns its day, counted from 1970-01-01.
    mutating func takeWrittenDate() -> Int? {
        // 31-Dec-2003, 2004-july-13 and 31.Dec.2003 are three words, too.
        let words = words.flatMap { word -> [Substring] in
            guard word.first?.isNumber == true, word.contains(where: \.isLetter), !word.contains(":") else {
                return [word]
            }
            return word.split { $0 == "-" || $0 == "." || $0 == "/" }
        }
        // The last match counts, because "mar." is a weekday in French and Spanish.
        guard let monthIndex = words.lastIndex(where: { CalendarNames.month($0) != nil }),
            let month = CalendarNames.month(words[monthIndex])
        else { return nil }
        var numbers: [(index: Int, text: Substring)] = []
        for (index, word) in words.enumerated() {
            let number = word.prefix(while: \.isASCIIDigit)
            let ending = word.dropFirst(number.count)
            if !number.isEmpty, number.count <= 4, ["", "st", "nd", "rd", "th", "."].contains(String(ending)) {
                numbers.append((index, number))
            }
            if numbers.count == 2 { break }
        }
        guard numbers.count == 2 else { return nil }
        if numbers[0].text.count == 4 { numbers.swapAt(0, 1) }
        guard let day = Int(numbers[0].text), let year = DateWords.year(numbers[1].text) else { return nil }
        let last = max(monthIndex, numbers[0].index, numbers[1].index)
        // In asctime, the time and the zone are between the day and the year.
        let between = words[..<last].filter { $0.contains(":") || CalendarNames.zone($0) != nil }
        self.words = between + words[(last + 1)...]
        return DateWords.day(year: year, month: month, day: day)
    }

    // MARK: - Times

    /// Takes a time, and returns the seconds since midnight.
    mutating func takeTime() -> Int? {
        var isAfternoon: Bool?
        words.removeAll { word in
            guard let half = ["am": false, "a.m.": false, "pm": true, "p.m.": true][word] else { return false }
            isAfternoon = half
            return true
        }
        guard let index = words.firstIndex(where: { $0.first?.isASCIIDigit == true }) else { return nil }
        var word = words.remove(at: index)
        if let half = ["am": false, "pm": true][word.suffix(2)] {
            isAfternoon = half
            word = word.dropLast(2)
        }
        // The zone may follow the time without a space.
        if let zone = word.firstIndex(where: { $0.isLetter || $0 == "+" || $0 == "-" }) {
            words.insert(word[zone...], at: index)
            word = word[..<zone]
        }
        var parts = word.split(separator: ":")
        if parts.count == 1, [4, 6].contains(parts[0].prefix(while: \.isASCIIDigit).count) {
            // The forms 1014 and 101455.
            let digits = parts[0]
            parts = [digits.prefix(2), digits.dropFirst(2).prefix(2), digits.dropFirst(4)].filter { !$0.isEmpty }
        }
        guard (1...3).contains(parts.count) else { return nil }
        if let mark = parts[parts.count - 1].firstIndex(where: { $0 == "." || $0 == "," }), parts.count == 3 {
            fraction = Double("0." + parts[2][parts[2].index(after: mark)...]) ?? 0
            parts[2] = parts[2][..<mark]
        }
        var numbers: [Int] = []
        for part in parts {
            guard part.count <= 2, let number = Int(part), number >= 0 else { return nil }
            numbers.append(number)
        }
        if let isAfternoon, numbers[0] <= 12 { numbers[0] = numbers[0] % 12 + (isAfternoon ? 12 : 0) }
        let minute = numbers.count > 1 ? numbers[1] : 0
        let second = numbers.count > 2 ? numbers[2] : 0
        // 24:00 is the end of a day, and second 60 is a leap second.
        guard numbers[0] < 24 || (numbers[0] == 24 && minute == 0 && second == 0), minute < 60, second <= 60 else {
            return nil
        }
        return numbers[0] * 3600 + minute * 60 + second
    }

    /// Takes a zone, and returns its offset from UTC in seconds. Returns `nil`, which means UTC, for an unknown name.
    mutating func takeZone() -> Int? {
        var zone: Int?
        for word in words {
            if let sign = word.firstIndex(where: { $0 == "+" || $0 == "-" }),
                let offset = DateWords.offset(word[sign...])
            {
                // The sign may follow a name: GMT+0100.
                return offset
            }
            zone = zone ?? CalendarNames.zone(word)
        }
        return zone ?? defaultZone
    }

    /// Separates a date of ISO 8601 from the time after its `T`.
    private mutating func splitDateAndTime() {
        guard let first = words.first, first.first?.isASCIIDigit == true else { return }
        for mark in first.indices.dropFirst() where first[mark] == "t" && first[first.index(before: mark)].isASCIIDigit
        {
            let time = first[first.index(after: mark)...]
            guard time.first?.isASCIIDigit == true else { continue }
            words[0] = first[..<mark]
            words.insert(time, at: 1)
            return
        }
    }

    private static func offset(_ text: Substring) -> Int? {
        let sign = text.first == "-" ? -1 : 1
        let digits = text.dropFirst().filter { $0 != ":" }
        guard digits.allSatisfy(\.isASCIIDigit), let number = Int(digits) else { return nil }
        let (hours, minutes) = digits.count <= 2 ? (number, 0) : (number / 100, number % 100)
        guard (1...4).contains(digits.count), hours <= 24, minutes < 60 else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }
}

extension DateWords {
    /// The day of a date in one of the forms of ISO 8601, with only digits or with `-`, `/` or `.` between them.
    static func isoDay(_ text: Substring) -> Int? {
        if let week = text.firstIndex(of: "w") {
            let digits = text[text.index(after: week)...].filter { $0 != "-" }
            guard let year = Int(text[..<week].filter { $0 != "-" }), [2, 3].contains(digits.count),
                let number = Int(digits.prefix(2)), let weekday = digits.count == 3 ? Int(digits.suffix(1)) : 1
            else { return nil }
            return day(year: year, week: number, weekday: weekday)
        }
        let parts = text.split { $0 == "-" || $0 == "/" || $0 == "." }
        let numbers = parts.compactMap { $0.allSatisfy(\.isASCIIDigit) ? Int($0) : nil }
        guard let first = parts.first, numbers.count == parts.count else { return nil }
        switch (parts.count, first.count) {
        case (1, 4): return day(year: numbers[0], month: 1, day: 1)
        case (1, 7): return day(year: numbers[0] / 1000, ordinal: numbers[0] % 1000)
        case (1, 8): return day(year: numbers[0] / 10_000, month: numbers[0] / 100 % 100, day: numbers[0] % 100)
        case (2, 4) where parts[1].count == 3: return day(year: numbers[0], ordinal: numbers[1])
        case (2, 4) where parts[1].count <= 2: return day(year: numbers[0], month: numbers[1], day: 1)
        case (3, 4): return day(year: numbers[0], month: numbers[1], day: numbers[2])
        case (3, 2) where text.contains("-"):
            return year(first).flatMap { day(year: $0, month: numbers[1], day: numbers[2]) }
        default: return nil
        }
    }

    /// The year of digits. Two digits mean 1950 to 2049, and three digits count from 1900, as in RFC 2822.
    static func year(_ digits: Substring) -> Int? {
        guard let number = Int(digits), number >= 0 else { return nil }
        return switch digits.count {
        case 1, 2: number < 50 ? 2000 + number : 1900 + number
        case 3: 1900 + number
        case 4: number
        default: nil
        }
    }

    /// The number of the day since 1970-01-01 in the Gregorian calendar, or `nil` if there is no such day.
    static func day(year: Int, month: Int, day: Int) -> Int? {
        guard (1...9999).contains(year), (1...12).contains(month), day >= 1 else { return nil }
        let lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard day <= lengths[month - 1] else { return nil }
        return firstDay(of: year) + lengths[..<(month - 1)].reduce(0, +) + day - 1
    }

    /// The number of a day since 1970-01-01, from its number within the year, counted from 1.
    static func day(year: Int, ordinal: Int) -> Int? {
        guard (1...9999).contains(year), (1...(isLeap(year) ? 366 : 365)).contains(ordinal) else { return nil }
        return firstDay(of: year) + ordinal - 1
    }

    /// The number of a day since 1970-01-01, from a week date of ISO 8601: week 1 contains January 4, weekday 1 is
    /// Monday.
    static func day(year: Int, week: Int, weekday: Int) -> Int? {
        guard (1...9999).contains(year), (1...53).contains(week), (1...7).contains(weekday) else { return nil }
        let fourth = firstDay(of: year) + 3
        // 1970-01-01 was a Thursday. The result is 0 for a Monday.
        let fourthWeekday = ((fourth + 3) % 7 + 7) % 7
        return fourth - fourthWeekday + (week - 1) * 7 + weekday - 1
    }

    private static func isLeap(_ year: Int) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    private static func firstDay(of year: Int) -> Int {
        let before = year - 1
        return before * 365 + before / 4 - before / 100 + before / 400 - 719_162
    }
}
