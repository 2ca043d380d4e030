import MistKit

/// A typed record whose conformance is written by hand, without the macro.
struct Memo: Hashable {
    var title: String
    var count: Int?
}

extension Memo: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let title = RecordField<String>("title")
        let count = RecordField<Int>("count")
    }

    static let recordType = "Memo"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.title, fields.count)

    init(fields reader: inout FieldReader) throws(FieldError) {
        var title: String?
        var count: Int?
        while let field = try reader.next() {
            switch field {
            case 0: title = try reader.value()
            case 1: count = try reader.value()
            default: try reader.skip()
            }
        }
        self.title = try reader.required(title, 0)
        self.count = count
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, title)
        writer.write(1, count)
    }
}

/// Another type in the same zone.
struct Folder: Hashable {
    var name: String
}

extension Folder: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let name = RecordField<String>("name")
    }

    static let recordType = "Folder"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.name)

    init(fields reader: inout FieldReader) throws(FieldError) {
        var name: String?
        while let field = try reader.next() {
            switch field {
            case 0: name = try reader.value()
            default: try reader.skip()
            }
        }
        self.name = try reader.required(name, 0)
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, name)
    }
}
