import MistKit

// Written by hand, without the macro: the thread sanitizer builds these tests, and not the macro.

/// The first version of a program's type.
enum FirstVersion {
    struct Card: Hashable {
        var title: String?
    }
}

extension FirstVersion.Card: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let title = RecordField<String>("title")
    }

    static let recordType = "Card"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.title)

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: title = try reader.value()
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, title)
    }
}

/// The next version: a new field, and one that was renamed.
enum SecondVersion {
    struct Card: Hashable {
        var name: String?
        var rank: Int?
    }
}

extension SecondVersion.Card: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let name = RecordField<String>("name", formerly: ["title"])
        let rank = RecordField<Int>("rank")
    }

    static let recordType = "Card"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.name, fields.rank)

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: name = try reader.value()
            case 1: rank = try reader.value()
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, name)
        writer.write(1, rank)
    }
}

/// A version whose field has another type.
enum WrongVersion {
    struct Card: Hashable {
        var title: Int?
    }
}

extension WrongVersion.Card: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let title = RecordField<Int>("title")
    }

    static let recordType = "Card"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.title)

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: title = try reader.value()
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, title)
    }
}
