import Foundation
import MistKit
import MistStore

extension CrashScenario.Step {
    /// The device's program sets the file of a cover. The second process may repeat it.
    static func cover(_ device: CrashScenario.Device, _ name: String, _ bytes: [UInt8]) -> Self {
        .program(device) { store in
            let image = try await store.privateDatabase.addFile(bytes)
            try await store.privateDatabase.add(Cover(title: name, image: image), named: name)
        }
    }
}

extension FieldValue {
    /// What of a value is the same in each run: an asset has a random key, and an address with a time.
    var stable: String {
        guard let asset = plain.assetValue else { return "\(plain)" }
        return "\(asset.fileChecksum ?? "not uploaded") \(asset.size ?? 0) \(asset.content?.rawValue ?? "not here")"
    }
}
