import MistKit

/// The names of the records that a file has had so far, to find a name that is repeated.
///
/// Only hashes are kept, and of a file with very many names only the last ones, so that memory does not grow with the
/// file. After a kill, the names of the earlier run are not known.
struct RecordNames {
    /// The number of hashes that are kept, in two halves.
    private static let limit = 1_000_000

    private var newer: Set<Int> = []
    private var older: Set<Int> = []

    /// Adds the name of an item, if it is a record with a name.
    ///
    /// - Throws: ``CommandError`` for a name that an earlier item of the same zone has.
    mutating func add(_ item: ImportReader.Item) throws(CommandError) {
        guard case .success(let record) = item.record, let name = record.recordName else { return }
        var hasher = Hasher()
        hasher.combine(name)
        hasher.combine(record.zoneID?.zoneName ?? ZoneID.default.zoneName)
        let hash = hasher.finalize()
        guard !newer.contains(hash), !older.contains(hash) else {
            throw CommandError(
                code: .data,
                message: "The file has another record of the name \(name) before this one.",
                remedy: "Keep one of them, or give them different names."
            )
        }
        if newer.count >= Self.limit / 2 {
            older = newer
            newer = []
        }
        newer.insert(hash)
    }
}
