import HTTPTypes

extension Duration {
    /// The wait that the header field `Retry-After` asks for: seconds, or a date. A date is compared with the
    /// response's own `Date`, so that a wrong clock on this machine does no harm. RFC 9110, section 10.2.3.
    init?(retryAfter fields: HTTPFields) {
        guard let text = fields[.retryAfter] else { return nil }
        if let seconds = Double(text) {
            self.init(wireSeconds: seconds)
        } else if let then = secondsOfHTTPDate(text), let now = fields[.date].flatMap(secondsOfHTTPDate) {
            self.init(wireSeconds: Double(max(then - now, 0)))
        } else {
            return nil
        }
    }
}

/// The seconds since 1970 of a date such as `Sun, 06 Nov 1994 08:49:37 GMT`; `nil` for the two older forms, which no
/// server was observed to send.
package func secondsOfHTTPDate(_ text: String) -> Int? {
    let parts = text.split(whereSeparator: { $0 == " " || $0 == ":" || $0 == "," })
    guard parts.count == 8, parts[7] == "GMT",
        let day = Int(parts[1]), (1...31).contains(day),
        let month = months.firstIndex(of: String(parts[2])),
        let year = Int(parts[3]), (1970...9999).contains(year),
        let hour = Int(parts[4]), (0..<24).contains(hour),
        let minute = Int(parts[5]), (0..<60).contains(minute),
        let second = Int(parts[6]), (0...60).contains(second)
    else { return nil }
    // Days since 1970, in years that begin in March, so that the leap day is their last.
    let monthFromMarch = (month + 10) % 12
    let yearFromMarch = month < 2 ? year - 1 : year
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    let days = 365 * yearFromMarch + yearFromMarch / 4 - yearFromMarch / 100 + yearFromMarch / 400 + dayOfYear - 719_468
    return ((days * 24 + hour) * 60 + minute) * 60 + second
}

private let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
