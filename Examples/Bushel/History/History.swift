import BushelSources
import MistModels

/// The history in the database, with the states of the sources.
public struct History: Sendable {
    /// The restore images by build.
    public var images: [String: StoredRecord<RestoreImage>]
    /// The releases of Xcode by build.
    public var xcode: [String: StoredRecord<XcodeVersion>]
    /// The releases of Swift by version.
    public var swift: [String: StoredRecord<SwiftVersion>]
    /// The states of the sources.
    public var states: [SourceID: StoredRecord<DataSource>]

    /// Reads the whole history.
    ///
    /// - Throws: A `CloudKitError`.
    public init(_ database: CloudKitDatabase) async throws {
        async let images = History.releases(RestoreImage.self, in: database)
        async let xcode = History.releases(XcodeVersion.self, in: database)
        async let swift = History.releases(SwiftVersion.self, in: database)
        async let states = History.states(in: database)
        self.images = try await images
        self.xcode = try await xcode
        self.swift = try await swift
        self.states = try await states
    }

    private static func releases<R: Release>(
        _ type: R.Type,
        in database: CloudKitDatabase
    ) async throws -> [String: StoredRecord<R>] {
        var releases: [String: StoredRecord<R>] = [:]
        for try await record in database.records(matching: Query<R> {}) { releases[record.model.key] = record }
        return releases
    }

    /// Reads only the states of the sources.
    ///
    /// - Throws: A `CloudKitError`.
    public static func states(in database: CloudKitDatabase) async throws -> [SourceID: StoredRecord<DataSource>] {
        var states: [SourceID: StoredRecord<DataSource>] = [:]
        for try await record in database.records(matching: Query<DataSource> {}) { states[record.source] = record }
        return states
    }

    /// The number of releases of a kind, and the number of those that no source lists any more.
    public func counts(of kind: ReleaseKind) -> (releases: Int, unlisted: Int) {
        func counts<R: Release>(_ records: [String: StoredRecord<R>]) -> (Int, Int) {
            (records.count, records.values.count { $0.sources.isEmpty })
        }
        switch kind {
        case .images: return counts(images)
        case .xcode: return counts(xcode)
        case .swift: return counts(swift)
        }
    }
}
