import MistStore

/// A list of the demo. The conformances are written by hand, as in a program without macros.
struct DemoList: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let name = RecordField<String>("name")
    }

    var name: String

    static let recordType = "DemoList"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.name)

    init(name: String) {
        self.name = name
    }

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

/// Something to do, on a list.
struct DemoTodo: CloudKitRecord {
    struct Fields: RecordFieldSet {
        let list = RecordField<RecordReference<DemoList>>("list", isParent: true)
        let title = RecordField<String>("title")
        let isDone = RecordField<Bool>("isDone")
    }

    var list: RecordReference<DemoList>
    var title: String
    var isDone = false

    static let recordType = "DemoTodo"
    static let fields = Fields()
    static let fieldTable = FieldTable(fields.list, fields.title, fields.isDone)

    init(list: RecordReference<DemoList>, title: String) {
        self.list = list
        self.title = title
    }

    init(fields reader: inout FieldReader) throws(FieldError) {
        var list: RecordReference<DemoList>?
        var title: String?
        while let field = try reader.next() {
            switch field {
            case 0: list = try reader.value()
            case 1: title = try reader.value()
            case 2: isDone = try reader.value() ?? false
            default: try reader.skip()
            }
        }
        self.list = try reader.required(list, 0)
        self.title = try reader.required(title, 1)
    }

    func write(fields writer: inout FieldWriter) {
        writer.write(0, list)
        writer.write(1, title)
        writer.write(2, isDone)
    }
}

/// The values of all records of a store or of the service, by record name and field name.
struct DemoContents: Hashable {
    private(set) var records: [String: [String: FieldValue]] = [:]

    var fieldCount: Int { records.values.reduce(0) { $0 + $1.count } }

    mutating func add(_ fields: Record.Fields, named recordName: String) {
        var values: [String: FieldValue] = [:]
        // The store keeps the times of edits in this field, which is not compared.
        for (name, value) in fields where name != "mist_edits" && !value.isNull {
            if case .reference(let target) = value {
                // The service adds the zone, which is that of the record.
                values[name] = .reference(Reference(recordName: target.recordName, action: target.action))
            } else {
                values[name] = value
            }
        }
        records[recordName] = values
    }

    /// The first difference, in the order of the names; `nil` when there is none.
    func firstDifference(from other: DemoContents) -> String? {
        for name in Set(records.keys).union(other.records.keys).sorted() {
            guard let mine = records[name] else { return "the record \(name) is missing" }
            guard let theirs = other.records[name] else { return "there is a record \(name) too many" }
            for field in Set(mine.keys).union(theirs.keys).sorted() where mine[field] != theirs[field] {
                let (value, expected) = (mine[field], theirs[field])
                return "\(field) of \(name) is \(Self.describe(value)), not \(Self.describe(expected))"
            }
        }
        return nil
    }

    private static func describe(_ value: FieldValue?) -> String {
        value.map(FieldText.describe) ?? "empty"
    }
}
