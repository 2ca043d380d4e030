import BushelSources
import Foundation
import MistModels

/// Finds the restore images and the releases of Swift that releases of Xcode refer to.
public struct References: Sendable {
    /// A version that a release of Xcode names and the history does not have.
    public struct Missing: Sendable, Hashable, Codable, Comparable, CustomStringConvertible {
        /// The build of Xcode.
        public var xcode: String
        /// The version of Xcode.
        public var version: String
        /// What is missing, such as `macOS 10.15` or `Swift 6.3`.
        public var target: String

        /// A sentence that names the release and what is missing.
        public var description: String { "Xcode \(version) (\(xcode)) names \(target), which no source lists" }

        /// Orders by the build of Xcode, then by the target.
        public static func < (left: Missing, right: Missing) -> Bool {
            (left.xcode, left.target) < (right.xcode, right.target)
        }
    }

    private let images: [(number: VersionNumber, image: RestoreImage)]
    private let swift: Set<String>

    /// Collects the possible targets of references.
    public init(images: some Sequence<RestoreImage>, swift: some Sequence<SwiftVersion>) {
        // Of several builds of one version, the first one is the minimum.
        self.images = images.filter(\.isFinal)
            .compactMap { image in image.number.map { ($0, image) } }
            .sorted { left, right in
                if left.0 != right.0 { return left.0 < right.0 }
                let dates = (left.1.releaseDate ?? .distantFuture, right.1.releaseDate ?? .distantFuture)
                return dates.0 != dates.1 ? dates.0 < dates.1 : left.1.key < right.1.key
            }
        self.swift = Set(swift.map(\.key))
    }

    /// The first final image that fits a minimum: the image of the version itself, or else the image of the next
    /// version with the same major number.
    public func image(for minimum: VersionNumber) -> RestoreImage? {
        images.first { $0.number >= minimum && $0.number.major == minimum.major }?.image
    }

    /// Sets the references of a release of Xcode to its release of Swift and to its minimum version of macOS.
    ///
    /// If a target is not found, the stored reference stays as long as the version that it refers to is the same:
    /// another run may know more sources.
    ///
    /// - Parameters:
    ///   - xcode: The release, merged.
    ///   - stored: The release in the history, or `nil` if it is new.
    /// - Returns: The release with its references, and the versions that were not found.
    public func resolved(_ xcode: XcodeVersion, stored: XcodeVersion?) -> (xcode: XcodeVersion, missing: [Missing]) {
        var result = xcode
        var missing: [Missing] = []
        func note(_ target: String) {
            missing.append(Missing(xcode: xcode.key, version: xcode.version ?? "", target: target))
        }
        result.swiftVersion = nil
        if let number = xcode.swiftNumber {
            if swift.contains(number) {
                result.swiftVersion = RecordReference(recordName: SwiftVersion.recordName(for: number))
            } else {
                if stored?.swiftNumber == number { result.swiftVersion = stored?.swiftVersion }
                if result.swiftVersion == nil { note("Swift \(number)") }
            }
        }
        result.minimumMacOS = nil
        if let requires = xcode.requiresMacOS, let minimum = VersionNumber(requires) {
            if let image = image(for: minimum) {
                result.minimumMacOS = RecordReference(recordName: image.recordName)
            } else {
                if stored?.requiresMacOS == requires { result.minimumMacOS = stored?.minimumMacOS }
                if result.minimumMacOS == nil { note("macOS \(requires)") }
            }
        }
        return (result, missing)
    }
}
