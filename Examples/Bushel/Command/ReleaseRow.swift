import BushelHistory
import BushelSources
import Foundation
import MistModels

/// A release of any kind as the commands print it: in tables, as JSON, and as CSV.
struct ReleaseRow: Codable, Hashable {
    var kind: ReleaseKind
    var recordName: String
    var version: String
    /// The build; Swift has none.
    var build: String?
    var stage: String?
    var releaseDate: Date?
    var isSigned: Bool?
    var downloadURL: String?
    var fileSize: Int?
    var sha1: String?
    var sha256: String?
    var notesURL: String?
    var requiresMacOS: String?
    /// The record name of the image.
    var minimumMacOS: String?
    var swiftNumber: String?
    /// The record name of the release of Swift.
    var swiftVersion: String?
    var sdks: [String]?
    var tag: String?
    var xcodeVersion: String?
    var sources: [SourceID]
    var provenance: [String: SourceID]

    private init(common release: some Release) {
        kind = type(of: release).kind
        recordName = release.recordName
        version = release.version ?? ""
        stage = release.stage
        releaseDate = release.releaseDate
        sources = release.sources
        provenance = release.provenance
    }

    init(_ image: RestoreImage) {
        self.init(common: image)
        build = image.buildNumber
        isSigned = image.isSigned
        downloadURL = image.downloadURL
        fileSize = image.fileSize
        sha1 = image.sha1
        sha256 = image.sha256
    }

    init(_ xcode: XcodeVersion) {
        self.init(common: xcode)
        build = xcode.buildNumber
        downloadURL = xcode.downloadURL
        sha1 = xcode.sha1
        notesURL = xcode.notesURL
        requiresMacOS = xcode.requiresMacOS
        minimumMacOS = xcode.minimumMacOS?.recordName
        swiftNumber = xcode.swiftNumber
        swiftVersion = xcode.swiftVersion?.recordName
        sdks = xcode.sdks
    }

    init(_ swift: SwiftVersion) {
        self.init(common: swift)
        tag = swift.tag
        xcodeVersion = swift.xcodeVersion
    }

    /// All releases of a history: by kind, the newest version first.
    static func rows(of history: History) -> [ReleaseRow] {
        let rows =
            history.images.values.map { ReleaseRow($0.model) } + history.xcode.values.map { ReleaseRow($0.model) }
            + history.swift.values.map { ReleaseRow($0.model) }
        return rows.sorted(by: isBefore)
    }

    private static func isBefore(_ left: ReleaseRow, _ right: ReleaseRow) -> Bool {
        if left.kind != right.kind { return left.kind.order < right.kind.order }
        let (first, second) = (VersionNumber(left.version), VersionNumber(right.version))
        if let first, let second, first != second { return first > second }
        if (first == nil) != (second == nil) { return second == nil }
        let (firstDate, secondDate) = (left.releaseDate ?? .distantPast, right.releaseDate ?? .distantPast)
        return firstDate != secondDate ? firstDate > secondDate : left.recordName < right.recordName
    }
}

extension ReleaseKind {
    fileprivate var order: Int { ReleaseKind.allCases.firstIndex(of: self) ?? 0 }
}

/// The filter of the releases that are listed; all conditions have to hold.
struct ReleaseFilter: Hashable {
    /// The kinds, or an empty list for all kinds.
    var kinds: [ReleaseKind] = []
    /// The beginning of the version, compared number by number: `15.1` is the beginning of `15.1.1` and not of `15.10`.
    var version: String?
    /// Whether Apple signs the image. A release without this information does not match.
    var isSigned: Bool?
    /// Whether the release is a beta or a release candidate.
    var isPrerelease: Bool?

    func includes(_ row: ReleaseRow) -> Bool {
        if !kinds.isEmpty, !kinds.contains(row.kind) { return false }
        if let version, VersionNumber(row.version)?.begins(with: version) != true { return false }
        if let isSigned, row.isSigned != isSigned { return false }
        if let isPrerelease, ((row.stage ?? Stage.release) != Stage.release) != isPrerelease { return false }
        return true
    }
}

/// Comma-separated values (RFC 4180).
enum CSV {
    /// The releases, after a line with the titles of the columns.
    static func text(of rows: [ReleaseRow]) -> String {
        ([columns.map(\.title)] + rows.map { row in columns.map { $0.value(row) } })
            .map { $0.map(escaped).joined(separator: ",") }
            .joined(separator: "\r\n")
    }

    /// A field, in quotation marks if it contains a comma, a quotation mark or a line break.
    static func escaped(_ field: String) -> String {
        let isPlain = !field.contains { $0 == "," || $0 == "\"" || $0.isNewline }
        return isPlain
            ? field
            : "\"" + field.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    private static let columns: [(title: String, value: @Sendable (ReleaseRow) -> String)] = [
        ("kind", { $0.kind.rawValue }),
        ("version", { $0.version }),
        ("build", { $0.build ?? "" }),
        ("stage", { $0.stage ?? "" }),
        ("releaseDate", { $0.releaseDate?.ISO8601Format() ?? "" }),
        ("isSigned", { $0.isSigned.map { "\($0)" } ?? "" }),
        ("fileSize", { $0.fileSize.map(String.init) ?? "" }),
        ("sha1", { $0.sha1 ?? "" }),
        ("sha256", { $0.sha256 ?? "" }),
        ("downloadURL", { $0.downloadURL ?? "" }),
        ("notesURL", { $0.notesURL ?? "" }),
        ("requiresMacOS", { $0.requiresMacOS ?? "" }),
        ("minimumMacOS", { $0.minimumMacOS ?? "" }),
        ("swiftNumber", { $0.swiftNumber ?? "" }),
        ("swiftVersion", { $0.swiftVersion ?? "" }),
        ("sdks", { ($0.sdks ?? []).joined(separator: "; ") }),
        ("tag", { $0.tag ?? "" }),
        ("xcodeVersion", { $0.xcodeVersion ?? "" }),
        ("sources", { $0.sources.map(\.rawValue).joined(separator: "; ") }),
    ]
}
