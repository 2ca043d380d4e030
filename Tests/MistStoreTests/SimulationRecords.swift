import MistKit

// The conformances are written by hand, without the macro, because a benchmark program has a symbolic link to this
// file.

/// A shelf with books.
struct Shelf: Hashable {
    var name: String?
}

extension Shelf: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let name = RecordField<String>("name")
    }

    static let recordType = "Shelf"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.name)

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: name = try reader.value()
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, name)
    }
}

/// A record with a field of each merge policy, and with both kinds of links.
struct Book: Hashable {
    var shelf: RecordReference<Shelf>?
    var sequel: RecordReference<Book>?
    var title: String?
    var note: String?
    var loans = 0
    var best: Int?
    var tags: [String] = []
}

extension Book: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let shelf = RecordField<RecordReference<Shelf>>("shelf", isParent: true)
        let sequel = RecordField<RecordReference<Book>>("sequel")
        let title = RecordField<String>("title")
        let note = RecordField<String>("note")
        let loans = RecordField<Int>("loans", merge: .counter)
        let best = RecordField<Int>("best", merge: .greatest)
        let tags = RecordField<[String]>("tags", merge: .union)
    }

    static let recordType = "Book"
    static let fields = Fields()
    static let fieldTable = FieldTable(
        fields.shelf,
        fields.sequel,
        fields.title,
        fields.note,
        fields.loans,
        fields.best,
        fields.tags
    )

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: shelf = try reader.value()
            case 1: sequel = try reader.value()
            case 2: title = try reader.value()
            case 3: note = try reader.value()
            case 4: loans = try reader.value() ?? 0
            case 5: best = try reader.value()
            case 6: tags = try reader.value() ?? []
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, shelf)
        writer.write(1, sequel)
        writer.write(2, title)
        writer.write(3, note)
        writer.write(4, loans)
        writer.write(5, best)
        writer.write(6, tags)
    }
}

/// A record below another one, with a field of each merge policy. It moves with the records below it.
struct Branch: Hashable {
    var above: RecordReference<Branch>?
    var near: RecordReference<Branch>?
    var title: String?
    var note: String?
    var visits = 0
    var best: Int?
    var tags: [String] = []
}

extension Branch: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let above = RecordField<RecordReference<Branch>>("above", isParent: true)
        let near = RecordField<RecordReference<Branch>>("near")
        let title = RecordField<String>("title")
        let note = RecordField<String>("note")
        let visits = RecordField<Int>("visits", merge: .counter)
        let best = RecordField<Int>("best", merge: .greatest)
        let tags = RecordField<[String]>("tags", merge: .union)
    }

    static let recordType = "Branch"
    static let fields = Fields()
    static let fieldTable = FieldTable(
        fields.above,
        fields.near,
        fields.title,
        fields.note,
        fields.visits,
        fields.best,
        fields.tags
    )

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: above = try reader.value()
            case 1: near = try reader.value()
            case 2: title = try reader.value()
            case 3: note = try reader.value()
            case 4: visits = try reader.value() ?? 0
            case 5: best = try reader.value()
            case 6: tags = try reader.value() ?? []
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, above)
        writer.write(1, near)
        writer.write(2, title)
        writer.write(3, note)
        writer.write(4, visits)
        writer.write(5, best)
        writer.write(6, tags)
    }
}

/// A record with a file, below another one. It moves with its file.
struct Leaf: Hashable {
    var branch: RecordReference<Branch>?
    var title: String?
    var image: Asset?
}

extension Leaf: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let branch = RecordField<RecordReference<Branch>>("branch", isParent: true)
        let title = RecordField<String>("title")
        let image = RecordField<Asset>("image")
    }

    static let recordType = "Leaf"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.branch, fields.title, fields.image)

    init(fields reader: inout FieldReader) throws(FieldError) {
        while let field = try reader.next() {
            switch field {
            case 0: branch = try reader.value()
            case 1: title = try reader.value()
            case 2: image = try reader.value()
            default: try reader.skip()
            }
        }
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, branch)
        writer.write(1, title)
        writer.write(2, image)
    }
}

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
