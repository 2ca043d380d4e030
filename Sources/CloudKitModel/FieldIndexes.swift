/// The indexes of a field. They decide what queries can do with it.
public struct FieldIndexes: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt8

    /// Makes a set from its bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// `QUERYABLE`: filters may compare the field.
    public static let queryable = FieldIndexes(rawValue: 1 << 0)
    /// `SORTABLE`: sorts may use the field.
    public static let sortable = FieldIndexes(rawValue: 1 << 1)
    /// `SEARCHABLE`: filters may search for words in the field.
    public static let searchable = FieldIndexes(rawValue: 1 << 2)
}

extension FieldIndexes {
    /// Each index with its spelling in the schema language, in the order in which they are written.
    package static let spellings: [(name: String, index: FieldIndexes)] = [
        ("QUERYABLE", .queryable), ("SORTABLE", .sortable), ("SEARCHABLE", .searchable),
    ]

    /// The spellings of the indexes in the set.
    package var names: [String] { Self.spellings.filter { contains($0.index) }.map(\.name) }
}
