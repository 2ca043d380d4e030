/// How long a text takes to read.
public enum ReadingTime {
    /// The number of words that a person reads in a minute.
    public static let wordsPerMinute = 200

    /// The number of words of a plain text: runs of letters and digits. In Chinese and Japanese, each ideograph and
    /// each syllable counts.
    public static func wordCount(of text: String) -> Int {
        var count = 0
        var isInWord = false
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x3040...0x30FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0x20000...0x3FFFF:
                count += 1
                isInWord = false
            case 0x27, 0x2019, 0x2D:
                // An apostrophe or a hyphen neither begins nor ends a word.
                break
            default:
                let isLetter = scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                if isLetter && !isInWord { count += 1 }
                isInWord = isLetter
            }
        }
        return count
    }

    /// The number of minutes that a number of words takes, rounded up, at least 1.
    public static func minutes(forWords count: Int) -> Int {
        max(1, (max(0, count) + wordsPerMinute - 1) / wordsPerMinute)
    }
}
