import Testing

/// The code that the macro generates.
struct ExpansionTests {
    @Test func aStructGetsItsFieldsAReaderAndAWriter() {
        expectExpansion(
            of: """
                @CloudKitRecord("User")
                struct User {
                    @CloudKitField("firstName") var givenName: String
                    var age: Int?
                    var tags: [String]
                    var score = 1.5
                    @CloudKitField("secret", .encrypted) private var note: String?
                    @CloudKitField(.json, .queryable) var settings: [String: Int]
                    var summary: String { givenName }
                    static let shared = 1
                    let version = 2
                    @CloudKitIgnored var isSelected = false
                }
                """,
            to: """
                struct User {
                    var givenName: String
                    var age: Int?
                    var tags: [String]
                    var score = 1.5
                    private var note: String?
                    var settings: [String: Int]
                    var summary: String { givenName }
                    static let shared = 1
                    let version = 2
                    var isSelected = false
                }

                extension User: MistKit.CloudKitRecord {
                    struct Fields: MistKit.RecordFieldSet {
                        let givenName = MistKit.RecordField("firstName", of: String.self)
                        let age = MistKit.RecordField("age", of: Int.self)
                        let tags = MistKit.RecordField("tags", of: [String].self)
                        let score = MistKit.RecordField("score", of: Swift.Double.self)
                        fileprivate let note = MistKit.EncryptedRecordField("secret", of: String.self)
                        let settings = MistKit.RecordField("settings", json: [String: Int].self, indexes: [.queryable])
                    }
                    static let recordType: Swift.String = "User"
                    static let fields: Fields = Fields()
                    static let fieldTable: MistKit.FieldTable = MistKit.FieldTable(
                        fields.givenName,
                        fields.age,
                        fields.tags,
                        fields.score,
                        fields.note,
                        fields.settings
                    )
                    init(fields reader: inout MistKit.FieldReader) throws(MistKit.FieldError) {
                        var value0: String?
                        var value1: Int?
                        var value2: [String]?
                        var value3: Swift.Double?
                        var value4: String?
                        var value5: [String: Int]?
                        while let field: Swift.Int = try reader.next() {
                            switch field {
                            case 0:
                                value0 = try reader.value(String.self)
                            case 1:
                                value1 = try reader.value(Int.self)
                            case 2:
                                value2 = try reader.value([String].self)
                            case 3:
                                value3 = try reader.value(Swift.Double.self)
                            case 4:
                                value4 = try reader.value(String.self)
                            case 5:
                                value5 = try reader.value(json: [String: Int].self)
                            default:
                                try reader.skip()
                            }
                        }
                        let property0: String = try reader.required(value0, 0)
                        let property1: Int? = value1
                        let property2: [String] = value2 ?? []
                        let property3: Swift.Double = value3 ?? 1.5
                        let property4: String? = value4
                        let property5: [String: Int] = try reader.required(value5, 5)
                        self.givenName = property0
                        self.age = property1
                        self.tags = property2
                        self.score = property3
                        self.note = property4
                        self.settings = property5
                    }
                    func write(fields writer: inout MistKit.FieldWriter) {
                        writer.write(0, self.givenName)
                        writer.write(1, self.age)
                        writer.write(2, self.tags)
                        writer.write(3, self.score)
                        writer.write(4, self.note)
                        writer.write(5, json: self.settings)
                    }
                }
                """
        )
    }

    @Test func aPublicStructHasAPublicConformanceAndItsNameAsType() {
        expectExpansion(
            of: """
                @CloudKitRecord
                public struct Place {
                    public let latitude, longitude: Double
                }
                """,
            to: """
                public struct Place {
                    public let latitude, longitude: Double
                }

                extension Place: MistKit.CloudKitRecord {
                    public struct Fields: MistKit.RecordFieldSet {
                        public let latitude = MistKit.RecordField("latitude", of: Double.self)
                        public let longitude = MistKit.RecordField("longitude", of: Double.self)
                    }
                    public static let recordType: Swift.String = "Place"
                    public static let fields: Fields = Fields()
                    public static let fieldTable: MistKit.FieldTable = MistKit.FieldTable(
                        fields.latitude,
                        fields.longitude
                    )
                    public init(fields reader: inout MistKit.FieldReader) throws(MistKit.FieldError) {
                        var value0: Double?
                        var value1: Double?
                        while let field: Swift.Int = try reader.next() {
                            switch field {
                            case 0:
                                value0 = try reader.value(Double.self)
                            case 1:
                                value1 = try reader.value(Double.self)
                            default:
                                try reader.skip()
                            }
                        }
                        let property0: Double = try reader.required(value0, 0)
                        let property1: Double = try reader.required(value1, 1)
                        self.latitude = property0
                        self.longitude = property1
                    }
                    public func write(fields writer: inout MistKit.FieldWriter) {
                        writer.write(0, self.latitude)
                        writer.write(1, self.longitude)
                    }
                }
                """
        )
    }

    @Test func aFieldSaysHowItMergesWhatItWasCalledAndWhetherItIsTheParent() {
        expectExpansion(
            of: """
                @CloudKitRecord
                struct Todo {
                    @CloudKitParent @CloudKitField("folder", .queryable) var list: RecordReference<TodoList>?
                    @CloudKitField("title", .sortable, .greatest, formerly: "name", "heading") var title: String
                    @CloudKitField(.union, .encrypted, formerly: "labels") var tags: [String]
                    @CloudKitField(.counter) var visits: Count
                }
                """,
            to: """
                struct Todo {
                    var list: RecordReference<TodoList>?
                    var title: String
                    var tags: [String]
                    var visits: Count
                }

                extension Todo: MistKit.CloudKitRecord {
                    struct Fields: MistKit.RecordFieldSet {
                        let list = MistKit.RecordField("folder", of: RecordReference<TodoList>.self, indexes: [.queryable], isParent: true)
                        let title = MistKit.RecordField("title", of: String.self, indexes: [.sortable], merge: .greatest, formerly: ["name", "heading"])
                        let tags = MistKit.EncryptedRecordField("tags", of: [String].self, merge: .union, formerly: ["labels"])
                        let visits = MistKit.RecordField("visits", of: Count.self, merge: .counter)
                    }
                    static let recordType: Swift.String = "Todo"
                    static let fields: Fields = Fields()
                    static let fieldTable: MistKit.FieldTable = MistKit.FieldTable(
                        fields.list,
                        fields.title,
                        fields.tags,
                        fields.visits
                    )
                    init(fields reader: inout MistKit.FieldReader) throws(MistKit.FieldError) {
                        var value0: RecordReference<TodoList>?
                        var value1: String?
                        var value2: [String]?
                        var value3: Count?
                        while let field: Swift.Int = try reader.next() {
                            switch field {
                            case 0:
                                value0 = try reader.value(RecordReference<TodoList>.self)
                            case 1:
                                value1 = try reader.value(String.self)
                            case 2:
                                value2 = try reader.value([String].self)
                            case 3:
                                value3 = try reader.value(Count.self)
                            default:
                                try reader.skip()
                            }
                        }
                        let property0: RecordReference<TodoList>? = value0
                        let property1: String = try reader.required(value1, 1)
                        let property2: [String] = value2 ?? []
                        let property3: Count = try reader.required(value3, 3)
                        self.list = property0
                        self.title = property1
                        self.tags = property2
                        self.visits = property3
                    }
                    func write(fields writer: inout MistKit.FieldWriter) {
                        writer.write(0, self.list)
                        writer.write(1, self.title)
                        writer.write(2, self.tags)
                        writer.write(3, self.visits)
                    }
                }
                """
        )
    }
}
