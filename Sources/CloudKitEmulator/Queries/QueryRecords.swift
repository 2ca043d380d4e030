public import CloudKitModel
import GRDB

extension CloudKitEmulator {
    /// Queries records of one type (`records/query`).
    public func queryRecords(
        _ query: RecordQuery,
        in address: DatabaseAddress,
        zoneID: ZoneID? = nil,
        zoneWide: Bool = false,
        resultsLimit: Int? = nil,
        continuationMarker: String? = nil,
        desiredKeys: [String]? = nil,
        numbersAsStrings: Bool = false,
        getCurrentSyncToken: Bool = false,
        as caller: Caller
    ) throws(EmulatorError) -> RecordPage {
        RecordPage(records: [])
    }
}
