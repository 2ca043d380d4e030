import Foundation
import MistStore
import MistTesting

// The tests are on the pages of the book: Sources/MistStore/MistStore.docc.

/// Runs the Swift of a page with a folder for a store, and with the service of an emulator.
func withFolder(_ body: (_ folder: URL, _ service: CloudKitService) async throws -> Void) async throws {
    try await withCloudKitEmulator { emulator in
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("todos-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder, emulator.service(as: .user))
    }
}
