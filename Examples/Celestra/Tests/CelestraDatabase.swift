import CelestraUpdates
import CloudKitEmulator
import MistModels
import MistTesting

/// The public database of an emulator with the schema of Celestra, so that a query without its index fails as it does
/// on the service.
func celestraDatabase(of emulator: RunningEmulator) throws -> CloudKitDatabase {
    try emulator.rules.importSchema(CelestraSchema.container(), into: emulator.containerIdentifier)
    return emulator.service(as: .serverKey).publicDatabase
}
