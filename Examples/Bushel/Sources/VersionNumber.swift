/// A version that consists of numbers, such as `15.1`, and compares by number: `15.10` comes after `15.9`.
///
/// ```swift
/// VersionNumber("5.10.0")?.text            // "5.10"
/// VersionNumber("6") == VersionNumber("6.0")   // true
/// VersionNumber("15.1 beta")               // nil
/// ```
public struct VersionNumber: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The numbers: at least two, without zeros at the end beyond these two.
    public let numbers: [Int]

    /// Reads one to five numbers with dots between them.
    ///
    /// - Returns: `nil` for every other text.
    public init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...5).contains(parts.count) else { return nil }
        var numbers: [Int] = []
        for part in parts {
            guard (1...6).contains(part.utf8.count), part.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int(part)
            else { return nil }
            numbers.append(number)
        }
        while numbers.count < 2 { numbers.append(0) }
        while numbers.count > 2, numbers.last == 0 { numbers.removeLast() }
        self.numbers = numbers
    }

    /// The version as text; equal versions have equal texts.
    public var text: String { numbers.map(String.init).joined(separator: ".") }

    /// The version as text.
    public var description: String { text }

    /// The first number.
    public var major: Int { numbers.first ?? 0 }

    /// Compares number by number; a missing number counts as 0.
    public static func < (left: VersionNumber, right: VersionNumber) -> Bool {
        for index in 0..<max(left.numbers.count, right.numbers.count) {
            let first = index < left.numbers.count ? left.numbers[index] : 0
            let second = index < right.numbers.count ? right.numbers[index] : 0
            if first != second { return first < second }
        }
        return false
    }

    /// Whether this version begins with the numbers of a prefix as it is written: `15.1.1` begins with `15.1`, `15.10`
    /// does not.
    public func begins(with prefix: String) -> Bool {
        let wanted = prefix.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
        guard !wanted.contains(nil) else { return false }
        return wanted.enumerated().allSatisfy { index, number in
            number == (index < numbers.count ? numbers[index] : 0)
        }
    }
}

/// The stage of a release before it is final: `beta 3`, `RC`, or `release` for a final one.
public enum Stage {
    /// The stage of a release that is final.
    public static let release = "release"

    /// Splits a text into a version and its stage.
    ///
    /// ```swift
    /// Stage.split("macOS 15.1 Beta 5")   // "15.1", "beta 5"
    /// Stage.split("26.0 Release Candidate 2")  // "26.0", "RC 2"
    /// Stage.split("15.1 (Final)")        // "15.1", "release"
    /// Stage.split("15.1")                // "15.1", nil
    /// ```
    ///
    /// - Returns: The version, and its stage or `nil` if the text has none; `nil` if the text has no version.
    public static func split(_ text: String) -> (version: VersionNumber, stage: String?)? {
        var words = text.lowercased().split { $0.isWhitespace || $0 == "(" || $0 == ")" || $0 == "," }[...]
        while let first = words.first, VersionNumber(first) == nil { words.removeFirst() }
        guard let version = words.popFirst().flatMap({ VersionNumber($0) }) else { return nil }
        guard let word = words.popFirst() else { return (version, nil) }
        let second = words.first
        switch word {
        case "beta", "seed", "preview": return (version, numbered("beta", second))
        case "rc": return (version, numbered("RC", second))
        case "release" where second == "candidate": return (version, numbered("RC", words.dropFirst().first))
        case "gm" where second == "seed": return (version, numbered("RC", words.dropFirst().first))
        case "gm", "release", "final": return (version, release)
        default: return (version, nil)
        }
    }

    /// A stage with its number. The first of a stage has no number: `beta`, `beta 2`.
    public static func numbered(_ name: String, _ number: (some StringProtocol)?) -> String {
        guard let number = number.flatMap({ Int($0) }), number > 1 else { return name }
        return "\(name) \(number)"
    }

    /// The stage that a build number of macOS or Xcode shows: the number of a seed ends with four digits of which the
    /// first is 5, and a lower-case letter, as in `24B5055e`.
    public static func ofBuild(_ build: String) -> String {
        let rest = build.drop { $0.isNumber }.dropFirst()
        let digits = rest.prefix { $0.isNumber }
        let letter = rest.dropFirst(digits.count)
        let isSeed = digits.count >= 4 && digits.first == "5" && letter.count == 1 && letter.first?.isLowercase == true
        return isSeed ? "beta" : release
    }
}
