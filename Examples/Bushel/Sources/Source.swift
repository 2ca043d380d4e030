/// A source: its address, how its documents are read, and how its statements are dated.
public struct Source: Sendable {
    /// How the statements of a source are dated.
    public enum Dating: Sendable {
        /// The time of the request: the source asks Apple itself, or is Apple.
        case request
        /// The header field Last-Modified of the document: the source is edited by hand.
        case document
    }

    /// The name.
    public let id: SourceID
    /// The address.
    public var address: String
    /// The kinds of releases that the source lists.
    public let kinds: [ReleaseKind]
    /// How its statements are dated.
    public let dating: Dating
    /// Whether the host's `robots.txt` is obeyed, because the source is a page for people and not an API for programs.
    public let isPage: Bool
    /// Reads the body of a response.
    public let parse: @Sendable (_ body: [UInt8]) throws(SourceError) -> SourceContents

    /// Creates a source.
    public init(
        _ id: SourceID,
        at address: String,
        kinds: [ReleaseKind],
        dating: Dating = .request,
        isPage: Bool = false,
        parse: @escaping @Sendable (_ body: [UInt8]) throws(SourceError) -> SourceContents
    ) {
        self.id = id
        self.address = address
        self.kinds = kinds
        self.dating = dating
        self.isPage = isPage
        self.parse = parse
    }

    /// All sources.
    public static let all: [Source] = [
        Source(
            .appleCatalog,
            at: "https://mesu.apple.com/assets/macos/com_apple_macOSIPSW/com_apple_macOSIPSW.xml",
            kinds: [.images],
            parse: AppleCatalog.parse
        ),
        Source(
            .ipswMe,
            at: "https://api.ipsw.me/v4/device/VirtualMac2,1?type=ipsw",
            kinds: [.images],
            parse: IPSWMe.parse
        ),
        Source(
            .appleDB,
            at: "https://api.appledb.dev/ios/macOS/main.json",
            kinds: [.images],
            parse: AppleDB.parse
        ),
        Source(
            .mrMacintosh,
            at: "https://mrmacintosh.com/apple-silicon-m1-full-macos-restore-ipsw-firmware-files-database/",
            kinds: [.images],
            dating: .document,
            isPage: true,
            parse: MrMacintosh.parse
        ),
        Source(
            .appleReleases,
            at: "https://developer.apple.com/news/releases/rss/releases.rss",
            kinds: [.xcode],
            parse: AppleReleases.parse
        ),
        Source(
            .xcodeReleases,
            at: "https://xcodereleases.com/data.json",
            kinds: [.xcode],
            parse: XcodeReleases.parse
        ),
        Source(
            .swiftOrg,
            at: "https://www.swift.org/api/v1/install/releases.json",
            kinds: [.swift],
            parse: SwiftOrg.parse
        ),
        Source(
            .swiftVersionNet,
            at: "https://swiftversion.net/",
            kinds: [.swift],
            dating: .document,
            isPage: true,
            parse: SwiftVersionNet.parse
        ),
    ]
}
