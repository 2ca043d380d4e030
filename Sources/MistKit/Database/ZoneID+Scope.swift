package import CloudKitModel

extension ZoneID {
    /// The zone as requests name it: without the owner if it is a zone of the user.
    ///
    /// Responses of the service name that owner in some cases and not in others.
    package func inRequests(to scope: DatabaseScope) -> ZoneID {
        ZoneID(zoneName: zoneName, ownerRecordName: scope == .shared ? owner : nil)
    }
}
