import MistKit

// The conformances are written by hand, because the thread sanitizer builds these tests without the macro.

/// A card with one field, whose type depends on the version of the program.
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

/// The first version of the program.
enum FirstVersion {
    typealias Card = TitledCard<String>
}

/// The next version of the program: it adds a field and renames one.
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

/// A version of the program in which the field has another type.
enum WrongVersion {
    typealias Card = TitledCard<Int>
}
