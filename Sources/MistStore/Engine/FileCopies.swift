import GRDB

/// Copies of a file: a folder that was copied, or a backup that was restored.
///
/// Two copies have the same device number, and write the parts of counters under the same number. So neither finds its own
/// part in a version after the other one has written, and would count a lost reply twice. The copy that notices the
/// other one takes a new number.
extension SyncEngine.Transaction {
    /// The number of this copy of the file. Another process may have changed it since the file was opened.
    func device() throws -> Int64 {
        if let device = memory.device { return device }
        let device = try db.value("SELECT device FROM mist_state", as: Int64.self) ?? 0
        memory.device = device
        return device
    }

    /// The number of this file, and those that it had before.
    func devices() throws -> Set<Int64> {
        if let devices = memory.devices { return devices }
        let former = try Int64.fetchAll(db.cachedStatement(sql: "SELECT device FROM mist_former_device"))
        let devices = Set(former + [try device()])
        memory.devices = devices
        return devices
    }

    /// Takes a new number if a version has a part of a counter under this file's number that this file has not written.
    ///
    /// - Parameters:
    ///   - table: The table of the record.
    ///   - counters: The version that this file knew before, and its writes.
    ///   - version: The edit times of the version.
    ///   - now: The machine's time in milliseconds since 1970.
    /// - Throws: A `DatabaseError` when the file fails.
    func noticeCopies(of table: RecordTable, _ counters: CounterHistory, in version: EditTimes, at now: Int64) throws {
        guard !version.parts.isEmpty else { return }
        let device = try device()
        let isForeign = table.fields.contains { field in
            guard field.schema.merge == .counter, let theirs = version.part(of: field.name, device: device) else {
                return false
            }
            let known = counters.known.part(of: field.name, device: device)
            return theirs.sequence > known?.sequence ?? .min
                && !counters.writes.contains(theirs)
        }
        guard isForeign else { return }
        let new = settings.newDevice()
        try db.run(
            "INSERT INTO mist_former_device (device, until) VALUES (?, ?) ON CONFLICT (device) DO NOTHING",
            [device, now]
        )
        try db.run("UPDATE mist_state SET device = ?", [new])
        (memory.device, memory.devices) = (new, nil)
    }
}
