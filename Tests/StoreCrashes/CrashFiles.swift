import Foundation
import MistKit
import MistStore

/// A record with a file.
struct Cover: Hashable {
    var title: String?
    var image: Asset?
}

extension Cover: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let title = RecordField<String>("title")
        let image = RecordField<Asset>("image")
    }

    static let recordType = "Cover"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.title, fields.image)

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: title = try reader.value()
            case 1: image = try reader.value()
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, title)
        writer.write(1, image)
    }
}

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
