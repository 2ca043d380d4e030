import Foundation
import MistModels

/// The kinds of releases.
public enum ReleaseKind: String, CaseIterable, Codable, Sendable {
    /// Restore images of macOS.
    case images
    /// Releases of Xcode.
    case xcode
    /// Releases of Swift.
    case swift

    /// The name for people, in the plural.
    public var title: String {
        switch self {
        case .images: "restore images"
        case .xcode: "Xcode releases"
        case .swift: "Swift releases"
        }
    }
}

/// A release, as one source lists it or as the history has it.
///
/// In a release of one source, ``sources`` and ``provenance`` are empty, and a value that the source does not give is
/// `nil`. In the history, the two say which sources list the release, and which source each value is from.
public protocol Release: CloudKitRecord, Hashable {
    /// What kind of release it is.
    static var kind: ReleaseKind { get }
    /// The identifier of the release within its kind: a build number, or the version of Swift.
    var key: String { get }
    /// Creates a release without values.
    init(key: String)
    /// The version without its stage.
    var version: String? { get }
    /// The stage: `release`, `RC 2`, `beta 3`.
    var stage: String? { get set }
    /// When it was released.
    var releaseDate: Date? { get set }
    /// The sources that list the release now, in alphabetical order.
    var sources: [SourceID] { get set }
    /// The source of each value, by the name of its field.
    var provenance: [String: SourceID] { get set }
}

extension Release {
    /// The name of the release's record, which is the same in each run and on each machine.
    public var recordName: String { Self.recordName(for: key) }

    /// The record name of the release with a key.
    public static func recordName(for key: String) -> String { "\(recordType)-\(key)" }

    /// The version as numbers.
    public var number: VersionNumber? { version.flatMap { VersionNumber($0) } }

    /// Whether the release is final.
    public var isFinal: Bool { stage == Stage.release }
}

/// A restore image of macOS, from which a Mac with Apple silicon or a virtual machine is restored.
@CloudKitRecord("RestoreImage")
public struct RestoreImage: Release {
    /// The build, such as `24B83`.
    @CloudKitField(.queryable, .sortable) public var buildNumber: String
    /// The version, such as `15.1`.
    @CloudKitField(.queryable, .sortable) public var version: String?
    /// The stage: `release`, `RC`, `beta 5`.
    @CloudKitField(.queryable) public var stage: String?
    /// Whether it is a beta or a release candidate; derived from the stage.
    @CloudKitField(.queryable) public var isPrerelease: Bool?
    /// When it was released.
    @CloudKitField(.queryable, .sortable) public var releaseDate: Date?
    /// The address of the file.
    public var downloadURL: String?
    /// The size of the file in bytes.
    public var fileSize: Int?
    /// The SHA-1 of the file.
    public var sha1: String?
    /// The SHA-256 of the file.
    public var sha256: String?
    /// Whether Apple signs it, so that it can be installed; `nil` if no source says so.
    @CloudKitField(.queryable) public var isSigned: Bool?
    /// The sources that list it now.
    @CloudKitField(.queryable) public var sources: [SourceID] = []
    /// The source of each value.
    @CloudKitField(.json) public var provenance: [String: SourceID] = [:]

    /// What kind of release it is.
    public static let kind = ReleaseKind.images
    /// The build.
    public var key: String { buildNumber }

    /// Creates an image without values.
    public init(key: String) {
        buildNumber = key
    }
}

/// A release of Xcode.
@CloudKitRecord("XcodeVersion")
public struct XcodeVersion: Release {
    /// The build, such as `16B40`.
    @CloudKitField(.queryable, .sortable) public var buildNumber: String
    /// The version, such as `16.1`.
    @CloudKitField(.queryable, .sortable) public var version: String?
    /// The stage: `release`, `RC`, `beta 3`.
    @CloudKitField(.queryable) public var stage: String?
    /// Whether it is a beta or a release candidate; derived from the stage.
    @CloudKitField(.queryable) public var isPrerelease: Bool?
    /// When it was released.
    @CloudKitField(.queryable, .sortable) public var releaseDate: Date?
    /// The address of the file. The download requires an Apple account.
    public var downloadURL: String?
    /// The address of the release notes.
    public var notesURL: String?
    /// The SHA-1 of the file.
    public var sha1: String?
    /// The version of macOS that it needs.
    @CloudKitField(.queryable) public var requiresMacOS: String?
    /// The version of its Swift compiler.
    @CloudKitField(.queryable) public var swiftNumber: String?
    /// Its SDKs, such as `macOS 15.1`, in alphabetical order.
    public var sdks: [String]?
    /// The first final restore image that fits ``requiresMacOS``.
    public var minimumMacOS: RecordReference<RestoreImage>?
    /// The release of Swift that fits ``swiftNumber``.
    @CloudKitField(.queryable) public var swiftVersion: RecordReference<SwiftVersion>?
    /// The sources that list it now.
    @CloudKitField(.queryable) public var sources: [SourceID] = []
    /// The source of each value.
    @CloudKitField(.json) public var provenance: [String: SourceID] = [:]

    /// What kind of release it is.
    public static let kind = ReleaseKind.xcode
    /// The build.
    public var key: String { buildNumber }

    /// Creates a release without values.
    public init(key: String) {
        buildNumber = key
    }
}

/// A release of Swift.
@CloudKitRecord("SwiftVersion")
public struct SwiftVersion: Release {
    /// The version, such as `6.0.3`.
    @CloudKitField("version", .queryable, .sortable) public var key: String
    /// The stage; sources list final releases only.
    @CloudKitField(.queryable) public var stage: String?
    /// When it was released.
    @CloudKitField(.queryable, .sortable) public var releaseDate: Date?
    /// The tag in the compiler's repository.
    public var tag: String?
    /// The first version of Xcode that has it.
    public var xcodeVersion: String?
    /// The sources that list it now.
    @CloudKitField(.queryable) public var sources: [SourceID] = []
    /// The source of each value.
    @CloudKitField(.json) public var provenance: [String: SourceID] = [:]

    /// What kind of release it is.
    public static let kind = ReleaseKind.swift
    /// The version.
    public var version: String? { key }

    /// Creates a release without values.
    public init(key: String) {
        self.key = key
    }
}
