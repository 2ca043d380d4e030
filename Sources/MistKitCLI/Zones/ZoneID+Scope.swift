import MistKit

extension ZoneID {
    /// The zone as requests name it: one of the user without the owner, who is in some responses and not in others.
    func inRequests(to scope: DatabaseScope) -> ZoneID {
        ZoneID(zoneName: zoneName, ownerRecordName: scope == .shared ? owner : nil)
    }
}
