import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices

extension RequestContext {
    /// Applies operations to records of the default zone.
    ///
    /// It is for the tests of the administration, whose document has a module with the same names as that of the
    /// service.
    func modify(_ operations: [RecordOperation]) throws -> [RecordResult] {
        try modifyRecords(.init(operations: operations)).records?.map(\.result) ?? []
    }

    /// Makes a device of the caller, which receives pushes.
    ///
    /// - Returns: The token of the device.
    func createDevice() throws -> String {
        try createDeviceToken(.init(apnsEnvironment: "development", clientId: nil)).apnsToken ?? ""
    }
}
