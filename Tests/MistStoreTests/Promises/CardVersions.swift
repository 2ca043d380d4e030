import MistKit

// Written by hand, without the macro: the thread sanitizer builds these tests, and not the macro.

/// A card with one field, whose type the version decides.
struct TitledCard<Title: FieldStorable & Hashable & Sendable>: Hashable {
    var title: Title?
}

extension TitledCard: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let title = RecordField<Title>("title")
    }

    static var recordType: String { "Card" }
    static var fields: Fields { Fields() }
    static var fieldTable: FieldTable { FieldTable(fields.title) }

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

/// The first version of a program's type.
enum FirstVersion {
    typealias Card = TitledCard<String>
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
    typealias Card = TitledCard<Int>
}
