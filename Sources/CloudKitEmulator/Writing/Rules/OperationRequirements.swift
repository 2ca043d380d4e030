import CloudKitModel

/// The requirements and effects of the seven operation types.
struct OperationRequirements {
    /// Whether the record must exist.
    enum Presence {
        case missing
        case present
        case either
    }

    let presence: Presence
    let checksTag: Bool
    var deletes = false
    var replacesAll = false

    init(_ type: RecordOperation.OperationType) throws(EmulatorError) {
        switch type {
        case .create: (presence, checksTag) = (.missing, true)
        case .update: (presence, checksTag) = (.present, true)
        case .forceUpdate: (presence, checksTag) = (.either, false)
        case .replace: (presence, checksTag, replacesAll) = (.present, true, true)
        case .forceReplace: (presence, checksTag, replacesAll) = (.either, false, true)
        case .delete: (presence, checksTag, deletes) = (.present, true, true)
        case .forceDelete: (presence, checksTag, deletes) = (.either, false, true)
        default: throw .badRequest("unknown operation '\(type)'")
        }
    }
}
