public import CloudKitModel

/// What an update copies into a mirror.
public struct MirrorSelection: Hashable, Sendable {
    enum Kind: Hashable {
        case allZones
        case zone(ZoneID)
        case types([String])
    }

    let kind: Kind

    /// All custom zones of a private or shared database, by its changes.
    public static let allZones = Self(kind: .allZones)

    /// One custom zone, by its changes.
    public static func zone(_ zoneID: ZoneID) -> Self { Self(kind: .zone(zoneID)) }

    /// The records of some types in the default zone, which queries find: a public database and a default zone have no
    /// change feed. Each update reads all of them, and removes the rows of records that no longer exist.
    public static func types(_ recordTypes: [String]) -> Self { Self(kind: .types(recordTypes)) }
}

/// What an update wrote.
public struct MirrorCounts: Hashable, Sendable {
    /// The number of records that are new or have changed.
    public internal(set) var written = 0
    /// The number of records that were removed.
    public internal(set) var deleted = 0
    /// The bytes of the written records as JSON.
    public internal(set) var bytes: Int64 = 0
}

/// What an update would fetch and remove. What is missing from a list that is read from the start is not counted.
public struct MirrorPreview: Hashable, Sendable {
    /// The number of records to fetch.
    public internal(set) var fetched: Int
    /// The number of records and zones to remove.
    public internal(set) var removed: Int
}
