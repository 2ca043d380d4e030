import BushelSources
import Foundation

/// A release whose values come from several sources.
public protocol MergedRelease: Release {
    /// The rules of precedence, one for each field.
    static var rules: [FieldRule<Self>] { get }
    /// Sets the fields that follow from other fields.
    mutating func derive()
}

/// The rule that decides which source's value a field takes.
public struct FieldRule<R: Release>: Sendable {
    /// The criterion that is compared before the order of the sources.
    public enum Order: Sendable {
        /// No criterion: only the order of the sources decides.
        case sources
        /// The newest statement. Among statements of the same date, the order of the sources decides.
        case newest
        /// A statement that calls the release final. A candidate and the final release may be the same build, and not
        /// every source notices this at once.
        case finalFirst
    }

    /// The name of the field.
    public let name: String
    /// The criterion that is compared first.
    public let order: Order
    /// The sources, the best one first. Sources that are not in the list come last.
    public let sources: [SourceID]
    let has: @Sendable (R) -> Bool
    let copy: @Sendable (_ source: R, _ target: inout R) -> Void

    /// Creates a rule.
    public init<Value: Sendable>(
        _ name: String,
        _ path: any WritableKeyPath<R, Value?> & Sendable,
        by order: Order = .sources,
        _ sources: SourceID...
    ) {
        self.name = name
        self.order = order
        self.sources = sources
        has = { $0[keyPath: path] != nil }
        copy = { $1[keyPath: path] = $0[keyPath: path] }
    }

    /// Whether one statement takes precedence over another.
    func isBetter(_ left: Statement<R>, than right: Statement<R>) -> Bool {
        switch order {
        case .sources: break
        case .newest where left.date != right.date: return left.date > right.date
        case .finalFirst where left.release.isFinal != right.release.isFinal: return left.release.isFinal
        case .newest, .finalFirst: break
        }
        let (first, second) = (rank(left.source), rank(right.source))
        return first != second ? first < second : left.source < right.source
    }

    private func rank(_ source: SourceID) -> Int { sources.firstIndex(of: source) ?? sources.count }
}

/// The values that one source gives for one release.
struct Statement<R: Release> {
    var source: SourceID
    var release: R
    /// The date of the statement.
    var date: Date
}

// The tables of precedence. README.md explains them.

extension RestoreImage: MergedRelease {
    /// Apple's catalog comes from Apple itself and has few images; ipsw.me reads the files; AppleDB has the betas; the
    /// page of Mr. Macintosh is edited by hand.
    public static let rules: [FieldRule<RestoreImage>] = [
        FieldRule("version", \.version, .appleCatalog, .appleDB, .ipswMe, .mrMacintosh),
        FieldRule("stage", \.stage, by: .finalFirst, .appleCatalog, .appleDB, .mrMacintosh, .ipswMe),
        FieldRule("releaseDate", \.releaseDate, .ipswMe, .appleDB, .mrMacintosh),
        FieldRule("downloadURL", \.downloadURL, .appleCatalog, .ipswMe, .appleDB, .mrMacintosh),
        FieldRule("fileSize", \.fileSize, .ipswMe, .appleDB),
        FieldRule("sha1", \.sha1, .appleCatalog, .ipswMe, .appleDB),
        FieldRule("sha256", \.sha256, .ipswMe, .appleDB),
        FieldRule("isSigned", \.isSigned, by: .newest, .appleCatalog, .ipswMe, .appleDB, .mrMacintosh),
    ]

    /// Where no source says so, the build number says whether the image is a beta.
    public mutating func derive() {
        stage = stage ?? Stage.ofBuild(buildNumber)
        isPrerelease = !isFinal
    }
}

extension XcodeVersion: MergedRelease {
    /// Apple's feed comes from Apple itself, but has few fields; xcodereleases.com has all others. The date of
    /// xcodereleases.com is preferred: it is the date of the final release, also where the feed has the candidate of
    /// the same build.
    public static let rules: [FieldRule<XcodeVersion>] = [
        FieldRule("version", \.version, .appleReleases, .xcodeReleases),
        FieldRule("stage", \.stage, by: .finalFirst, .appleReleases, .xcodeReleases),
        FieldRule("releaseDate", \.releaseDate, .xcodeReleases, .appleReleases),
        FieldRule("downloadURL", \.downloadURL, .xcodeReleases),
        FieldRule("notesURL", \.notesURL, .xcodeReleases),
        FieldRule("sha1", \.sha1, .xcodeReleases),
        FieldRule("requiresMacOS", \.requiresMacOS, .xcodeReleases),
        FieldRule("swiftNumber", \.swiftNumber, .xcodeReleases),
        FieldRule("sdks", \.sdks, .xcodeReleases),
    ]

    /// Where no source says so, the build number says whether the release is a beta.
    public mutating func derive() {
        stage = stage ?? Stage.ofBuild(buildNumber)
        isPrerelease = !isFinal
    }
}

extension SwiftVersion: MergedRelease {
    /// The Swift project itself, and then a page that is edited by hand.
    public static let rules: [FieldRule<SwiftVersion>] = [
        FieldRule("stage", \.stage, .swiftOrg, .swiftVersionNet),
        FieldRule("releaseDate", \.releaseDate, .swiftOrg, .swiftVersionNet),
        FieldRule("tag", \.tag, .swiftOrg),
        FieldRule("xcodeVersion", \.xcodeVersion, .swiftOrg, .swiftVersionNet),
    ]

    /// Nothing follows from other values.
    public mutating func derive() {}
}
