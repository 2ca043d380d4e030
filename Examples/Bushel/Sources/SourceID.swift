import MistModels

/// The name of a source, in records and on the command line.
///
/// A record may name a source that this version of the program does not know. Such a source makes no new statements,
/// and the value of any other source replaces its values.
public struct SourceID: RawRepresentable, FieldConvertible, Hashable, Codable, Sendable, Comparable,
    CustomStringConvertible
{
    /// The name.
    public let rawValue: String

    /// Creates a source ID from a name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Apple's catalog of restore images, which has the newest signed image.
    public static let appleCatalog = SourceID(rawValue: "apple-catalog")
    /// Apple's feed of new releases.
    public static let appleReleases = SourceID(rawValue: "apple-releases")
    /// The API of ipsw.me, version 4.
    public static let ipswMe = SourceID(rawValue: "ipsw.me")
    /// AppleDB, a database of builds that a community maintains.
    public static let appleDB = SourceID(rawValue: "appledb")
    /// The table of restore images of Mr. Macintosh.
    public static let mrMacintosh = SourceID(rawValue: "mrmacintosh")
    /// The list of Xcode releases of xcodereleases.com.
    public static let xcodeReleases = SourceID(rawValue: "xcodereleases")
    /// The list of toolchains of swift.org.
    public static let swiftOrg = SourceID(rawValue: "swift.org")
    /// The table of swiftversion.net.
    public static let swiftVersionNet = SourceID(rawValue: "swiftversion.net")

    /// The name.
    public var description: String { rawValue }

    /// Orders by name.
    public static func < (left: SourceID, right: SourceID) -> Bool { left.rawValue < right.rawValue }
}
