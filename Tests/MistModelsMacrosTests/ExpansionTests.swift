import Testing

/// What the macro writes.
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
                        let settings = MistKit.RecordField("settings", of: MistKit.JSONText<[String: Int]>.self, indexes: [.queryable])
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
                        var value5: MistKit.JSONText<[String: Int]>?
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
                                value5 = try reader.value(MistKit.JSONText<[String: Int]>.self)
                            default:
                                try reader.skip()
                            }
                        }
                        let property0: String = try reader.required(value0, 0)
                        let property1: Int? = value1
                        let property2: [String] = value2 ?? []
                        let property3: Swift.Double = value3 ?? 1.5
                        let property4: String? = value4
                        let property5: [String: Int] = try reader.required(value5?.value, 5)
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
                        writer.write(5, MistKit.JSONText(self.settings))
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
}
