import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// Each mistake has a diagnostic in one sentence, with a solution where there is one.
struct MisuseTests {
    /// A struct with one wrong member: its diagnostic, and the member after the fix-it.
    struct Misuse: CustomTestStringConvertible, Sendable {
        var member: String
        /// The member without the attributes of macros.
        var plain: String?
        var line = 3
        var column: Int
        var message: String
        var fixIt: String?
        var fixed: String?
        var otherFixIts: [String] = []

        var testDescription: String { member }
    }

    static let misuses: [Misuse] = [
        Misuse(
            member: "var parts: [String: Int]",
            column: 16,
            message: "the service has no type for a dictionary; @CloudKitField(.json) stores it as JSON text",
            fixIt: "Store it as JSON text",
            fixed: "@CloudKitField(.json) var parts: [String: Int]"
        ),
        Misuse(
            member: "var parts: Set<String>",
            column: 16,
            message: "the service has no type for a set; @CloudKitField(.json) stores it as JSON text",
            fixIt: "Store it as JSON text",
            fixed: "@CloudKitField(.json) var parts: Set<String>"
        ),
        Misuse(
            member: "var parts: [[Int]]",
            column: 16,
            message: "the service has no type for a list of lists; @CloudKitField(.json) stores it as JSON text",
            fixIt: "Store it as JSON text",
            fixed: "@CloudKitField(.json) var parts: [[Int]]"
        ),
        Misuse(
            member: "var parts: [Int?]",
            column: 17,
            message: "a list has no holes, so its elements cannot be optional",
            fixIt: "Make the elements Int",
            fixed: "var parts: [Int]"
        ),
        Misuse(
            member: "var part: Int??",
            column: 15,
            message: "a field has a value or none, so an optional of an optional cannot be one",
            fixIt: "Make it one optional",
            fixed: "var part: Int?"
        ),
        Misuse(
            member: "var pair: (Int, Int)",
            column: 15,
            message: "the service has no type for a tuple"
        ),
        Misuse(
            member: "var part: any Error",
            column: 15,
            message: "the service has no type for a type that is not known"
        ),
        Misuse(
            member: "var date = Date()",
            column: 9,
            message: "the type of date must be written: a macro sees the source alone",
            fixIt: "Write the type",
            fixed: "var date: <#Type#> = Date()"
        ),
        Misuse(
            member: "@CloudKitField(\"size\") let size = 3",
            plain: "let size = 3",
            column: 28,
            message: "a let with a value is the same for all records, so it cannot be a field",
            fixIt: "Make it a var",
            fixed: "@CloudKitField(\"size\") var size = 3",
            otherFixIts: ["Remove @CloudKitField"]
        ),
        Misuse(
            member: "@CloudKitField var size: Int { 3 }",
            plain: "var size: Int { 3 }",
            column: 5,
            message: "a computed property holds no value of the record, so it cannot be a field",
            fixIt: "Remove @CloudKitField",
            fixed: "var size: Int { 3 }"
        ),
        Misuse(
            member: "@CloudKitField static var size = 3",
            plain: "static var size = 3",
            column: 5,
            message: "a static property holds no value of the record, so it cannot be a field",
            fixIt: "Remove @CloudKitField",
            fixed: "static var size = 3"
        ),
        Misuse(
            member: "@CloudKitField(\"a b\") var size: Int",
            plain: "var size: Int",
            column: 20,
            message:
                "\"a b\" is not a valid name of a field: names begin with a letter and have only letters, digits and underscores"
        ),
        Misuse(
            member: "@CloudKitField(\"a.b\") var size: Int",
            plain: "var size: Int",
            column: 20,
            message:
                "\"a.b\" is not a valid name of a field: names begin with a letter and have only letters, digits and underscores"
        ),
        Misuse(
            member: "@CloudKitField(name) var size: Int",
            plain: "var size: Int",
            column: 20,
            message: "the field's name must be a string literal without interpolations"
        ),
        Misuse(
            member: "var größe: Int",
            column: 9,
            message: """
                a field cannot be named größe, as names begin with a letter and hold letters, digits and underscores; give it \
                one with @CloudKitField("name")
                """
        ),
        Misuse(
            member: "@CloudKitField(\"title\") var name: String",
            plain: "var name: String",
            column: 33,
            message: "the field \"title\" already belongs to the property title"
        ),
        Misuse(
            member: "@CloudKitIgnored var size: Int",
            plain: "var size: Int",
            column: 26,
            message: "a property that is ignored needs a default value, as a record that is read has none for it"
        ),
        Misuse(
            member: "@CloudKitField(.encrypted) var file: Asset?",
            plain: "var file: Asset?",
            column: 5,
            message: "files are encrypted without being asked; an Asset cannot be marked encrypted",
            fixIt: "Remove @CloudKitField",
            fixed: "var file: Asset?"
        ),
        Misuse(
            member: "@CloudKitField(.encrypted, .queryable) var size: Int",
            plain: "var size: Int",
            column: 5,
            message: "the service cannot look into an encrypted field, so it cannot be queryable"
        ),
        Misuse(
            member: "@CloudKitField(\"a\") @CloudKitField(.counter) var size: Int",
            plain: "var size: Int",
            column: 25,
            message: "a property has one @CloudKitField; write all arguments into it"
        ),
        Misuse(
            member: "@CloudKitParent var list: String",
            plain: "var list: String",
            column: 5,
            message: "a parent is a RecordReference or a Reference, and String is neither",
            fixIt: "Make it a RecordReference",
            fixed: "@CloudKitParent var list: RecordReference<<#Record#>>",
            otherFixIts: ["Remove @CloudKitParent"]
        ),
        Misuse(
            member: "@CloudKitParent var lists: [Reference]",
            plain: "var lists: [Reference]",
            column: 5,
            message: "a parent is a RecordReference or a Reference, and [Reference] is neither",
            fixIt: "Remove @CloudKitParent",
            fixed: "var lists: [Reference]"
        ),
        Misuse(
            member: "@CloudKitParent var list: [String: Int]",
            plain: "var list: [String: Int]",
            column: 5,
            message: "a parent is a RecordReference or a Reference, and [String: Int] is neither",
            fixIt: "Make it a RecordReference",
            fixed: "@CloudKitParent var list: RecordReference<<#Record#>>",
            otherFixIts: ["Remove @CloudKitParent"]
        ),
        Misuse(
            member: "@CloudKitParent @CloudKitField(.json) var list: Reference",
            plain: "var list: Reference",
            column: 5,
            message: "a parent is stored as a reference, not as JSON text",
            fixIt: "Remove @CloudKitParent",
            fixed: "@CloudKitField(.json) var list: Reference"
        ),
        Misuse(
            member: "@CloudKitParent @CloudKitField(.encrypted) var list: ListLink",
            plain: "var list: ListLink",
            column: 21,
            message: "references cannot be encrypted, as the service follows them",
            fixIt: "Remove @CloudKitField",
            fixed: "@CloudKitParent var list: ListLink"
        ),
        Misuse(
            member: "@CloudKitParent var list: Reference { other }",
            plain: "var list: Reference { other }",
            column: 5,
            message: "a computed property holds no value of the record, so it cannot be a field",
            fixIt: "Remove @CloudKitParent",
            fixed: "var list: Reference { other }"
        ),
        Misuse(
            member: "@CloudKitParent @CloudKitIgnored var list: Reference?",
            plain: "var list: Reference?",
            column: 21,
            message: "a property is either a field or ignored",
            fixIt: "Remove @CloudKitIgnored",
            fixed: "@CloudKitParent var list: Reference?",
            otherFixIts: ["Remove @CloudKitParent"]
        ),
        Misuse(
            member: "@CloudKitField(.counter, .union) var size: Int",
            plain: "var size: Int",
            column: 30,
            message: "a field has one merge policy, so .counter and .union exclude each other",
            fixIt: "Remove .union",
            fixed: "@CloudKitField(.counter) var size: Int",
            otherFixIts: ["Remove .counter"]
        ),
        Misuse(
            member: "@CloudKitField(.json, .union) var tags: [String]",
            plain: "var tags: [String]",
            column: 27,
            message: "JSON text is merged as a whole, so it cannot have the policy .union",
            fixIt: "Remove .union",
            fixed: "@CloudKitField(.json) var tags: [String]"
        ),
        Misuse(
            member: "@CloudKitField(\"n\", .counter, formerly: \"m\") var size: String",
            plain: "var size: String",
            column: 25,
            message: "a counter is an integer such as Int, and String is not one",
            fixIt: "Remove .counter",
            fixed: "@CloudKitField(\"n\", formerly: \"m\") var size: String"
        ),
        Misuse(
            member: "@CloudKitField(\"n\", .counter, formerly: \"m\") var size: Double",
            plain: "var size: Double",
            column: 25,
            message: "a counter is an integer such as Int, and Double is not one",
            fixIt: "Remove .counter",
            fixed: "@CloudKitField(\"n\", formerly: \"m\") var size: Double"
        ),
        Misuse(
            member: "@CloudKitField(\"n\", .counter, formerly: \"m\") var size: Bool",
            plain: "var size: Bool",
            column: 25,
            message: "a counter is an integer such as Int, and Bool is not one",
            fixIt: "Remove .counter",
            fixed: "@CloudKitField(\"n\", formerly: \"m\") var size: Bool"
        ),
        Misuse(
            member: "@CloudKitField(\"n\", .counter, formerly: \"m\") var size: Date",
            plain: "var size: Date",
            column: 25,
            message: "a counter is an integer such as Int, and Date is not one",
            fixIt: "Remove .counter",
            fixed: "@CloudKitField(\"n\", formerly: \"m\") var size: Date"
        ),
        Misuse(
            member: "@CloudKitField(\"n\", .counter, formerly: \"m\") var size: [Int]",
            plain: "var size: [Int]",
            column: 25,
            message: "a counter is an integer such as Int, and [Int] is not one",
            fixIt: "Remove .counter",
            fixed: "@CloudKitField(\"n\", formerly: \"m\") var size: [Int]"
        ),
        Misuse(
            member: "@CloudKitField(\"n\", .counter, formerly: \"m\") var size: RecordReference<Feed>",
            plain: "var size: RecordReference<Feed>",
            column: 25,
            message: "a counter is an integer such as Int, and RecordReference<Feed> is not one",
            fixIt: "Remove .counter",
            fixed: "@CloudKitField(\"n\", formerly: \"m\") var size: RecordReference<Feed>"
        ),
        Misuse(
            member: "@CloudKitField(.union) var tags: Set<String>?",
            plain: "var tags: Set<String>?",
            column: 20,
            message: "a union is a list, and Set<String> is not one",
            fixIt: "Make it a list",
            fixed: "@CloudKitField(.union) var tags: [String]?",
            otherFixIts: ["Remove @CloudKitField"]
        ),
        Misuse(
            member: "@CloudKitField(.union) var tag: String",
            plain: "var tag: String",
            column: 20,
            message: "a union is a list, and String is not one",
            fixIt: "Make it a list",
            fixed: "@CloudKitField(.union) var tag: [String]",
            otherFixIts: ["Remove @CloudKitField"]
        ),
        Misuse(
            member: "@CloudKitField(.union) var files: [Asset]",
            plain: "var files: [Asset]",
            column: 20,
            message: "a union compares the elements of its lists, and files are not compared",
            fixIt: "Remove @CloudKitField",
            fixed: "var files: [Asset]"
        ),
        Misuse(
            member: "@CloudKitField(.greatest) var best: [Int]",
            plain: "var best: [Int]",
            column: 20,
            message: ".greatest is for text, numbers and dates; [Int] has no order",
            fixIt: "Remove @CloudKitField",
            fixed: "var best: [Int]"
        ),
        Misuse(
            member: "@CloudKitField(.smallest) var best: Data",
            plain: "var best: Data",
            column: 20,
            message: ".smallest is for text, numbers and dates; Data has no order",
            fixIt: "Remove @CloudKitField",
            fixed: "var best: Data"
        ),
        Misuse(
            member: "@CloudKitField(.greatest) var best: Reference",
            plain: "var best: Reference",
            column: 20,
            message: ".greatest is for text, numbers and dates; Reference has no order",
            fixIt: "Remove @CloudKitField",
            fixed: "var best: Reference"
        ),
        Misuse(
            member: "@CloudKitField(.smallest) var best: Location",
            plain: "var best: Location",
            column: 20,
            message: ".smallest is for text, numbers and dates; Location has no order",
            fixIt: "Remove @CloudKitField",
            fixed: "var best: Location"
        ),
        Misuse(
            member: "@CloudKitField(.greatest) var best: Asset?",
            plain: "var best: Asset?",
            column: 20,
            message: ".greatest is for text, numbers and dates; Asset has no order",
            fixIt: "Remove @CloudKitField",
            fixed: "var best: Asset?"
        ),
        Misuse(
            member: "@CloudKitField(\"name\", formerly: \"name\") var size: Int",
            plain: "var size: Int",
            column: 38,
            message: "\"name\" is the name of the property size's field, so it cannot be a former name",
            fixIt: "Remove \"name\"",
            fixed: "@CloudKitField(\"name\") var size: Int"
        ),
        Misuse(
            member: "@CloudKitField(formerly: \"title\", \"count\") var size: Int",
            plain: "var size: Int",
            column: 30,
            message: "\"title\" is the name of the property title's field, so it cannot be a former name",
            fixIt: "Remove \"title\"",
            fixed: "@CloudKitField(formerly: \"count\") var size: Int"
        ),
        Misuse(
            member: "@CloudKitField(formerly: \"count\", \"count\") var size: Int",
            plain: "var size: Int",
            column: 39,
            message: "\"count\" is a former name of the property size's field already, so it cannot be a former name",
            fixIt: "Remove \"count\"",
            fixed: "@CloudKitField(formerly: \"count\") var size: Int"
        ),
        Misuse(
            member: "@CloudKitField(formerly: \"a b\") var size: Int",
            plain: "var size: Int",
            column: 30,
            message:
                "\"a b\" is not a valid name of a field: names begin with a letter and have only letters, digits and underscores"
        ),
    ]

    @Test(arguments: misuses)
    func aPropertyThatCannotBeAFieldIsSaidSo(misuse: Misuse) {
        func record(_ member: String) -> String { "struct R {\n    var title: String\n    \(member)\n}" }
        let fixIts = ([misuse.fixIt].compactMap { $0 } + misuse.otherFixIts).map { FixItSpec(message: $0) }
        expectExpansion(
            of: "@CloudKitRecord \(record(misuse.member))",
            to: record(misuse.plain ?? misuse.member),
            diagnostics: [
                DiagnosticSpec(message: misuse.message, line: misuse.line, column: misuse.column, fixIts: fixIts)
            ],
            applying: misuse.fixIt,
            gives: misuse.fixed.map { "@CloudKitRecord \(record($0))" }
        )
    }

    @Test func onlyStructsAreRecords() {
        expectExpansion(
            of: "@CloudKitRecord final class User {\n    var name: String = \"\"\n}",
            to: "final class User {\n    var name: String = \"\"\n}",
            diagnostics: [
                DiagnosticSpec(
                    message:
                        "@CloudKitRecord is for structs: a record is a value, whose old and new fields are compared",
                    line: 1,
                    column: 23,
                    fixIts: [FixItSpec(message: "Make it a struct")]
                )
            ]
        )
        expectExpansion(
            of: "@CloudKitRecord struct Box<T> {\n    var value: T\n}",
            to: "struct Box<T> {\n    var value: T\n}",
            diagnostics: [
                DiagnosticSpec(
                    message: "a record has one type in the schema, so its struct cannot be generic",
                    line: 1,
                    column: 27
                )
            ]
        )
        expectExpansion(
            of: "@CloudKitRecord struct Empty {\n    var size: Int { 3 }\n}",
            to: "struct Empty {\n    var size: Int { 3 }\n}",
            diagnostics: [
                DiagnosticSpec(message: "Empty has no stored property that could be a field", line: 1, column: 24)
            ]
        )
        expectExpansion(
            of: "@CloudKitRecord(\"1st\") struct First {\n    var size: Int\n}",
            to: "struct First {\n    var size: Int\n}",
            diagnostics: [
                DiagnosticSpec(
                    message:
                        "\"1st\" is not a valid name of a record type: names begin with a letter and have only letters, digits and underscores",
                    line: 1,
                    column: 17
                )
            ]
        )
    }

    @Test func fieldsOutsideOfRecordsAreSaidSo() {
        expectExpansion(
            of: "struct User {\n    @CloudKitField(\"a\") var name: String\n}",
            to: "struct User {\n    var name: String\n}",
            diagnostics: [
                DiagnosticSpec(
                    message:
                        "@CloudKitField does nothing here: put @CloudKitRecord before the type that the property is in",
                    line: 2,
                    column: 5
                )
            ]
        )
    }

    @Test func aRecordHasOneParent() {
        expectExpansion(
            of: """
                @CloudKitRecord struct Todo {
                    @CloudKitParent var list: RecordReference<TodoList>
                    @CloudKitParent @CloudKitField(.queryable) var folder: Reference?
                }
                """,
            to: """
                struct Todo {
                    var list: RecordReference<TodoList>
                    var folder: Reference?
                }
                """,
            diagnostics: [
                DiagnosticSpec(
                    message: "a record has one parent, and the property list points to it already",
                    line: 3,
                    column: 5,
                    fixIts: [FixItSpec(message: "Remove @CloudKitParent")]
                )
            ],
            applying: "Remove @CloudKitParent",
            gives: """
                @CloudKitRecord struct Todo {
                    @CloudKitParent var list: RecordReference<TodoList>
                    @CloudKitField(.queryable) var folder: Reference?
                }
                """
        )
    }

    @Test func aFormerNameOfOneFieldIsNoNameOfAnotherBelowIt() {
        let plain = "struct R {\n    var title: String\n    var name: String\n    var heading: String\n}"
        func record(_ former: String) -> String {
            """
            @CloudKitRecord struct R {
                @CloudKitField(formerly: \(former)) var title: String
                var name: String
                @CloudKitField(formerly: "caption") var heading: String
            }
            """
        }
        for (former, column, use) in [
            (#""old", "name""#, 37, "\"name\" is the name of the property name's field"),
            (#""old", "heading""#, 37, "\"heading\" is the name of the property heading's field"),
        ] {
            expectExpansion(
                of: record(former),
                to: plain,
                diagnostics: [
                    DiagnosticSpec(
                        message: "\(use), so it cannot be a former name",
                        line: 2,
                        column: column,
                        fixIts: [FixItSpec(message: "Remove \(former.dropFirst(7))")]
                    )
                ],
                applying: "Remove \(former.dropFirst(7))",
                gives: record(#""old""#)
            )
        }
        expectExpansion(
            of: record(#""caption""#),
            to: plain,
            diagnostics: [
                DiagnosticSpec(
                    message:
                        "\"caption\" is a former name of the property title's field already, so it cannot be a former name",
                    line: 4,
                    column: 30,
                    fixIts: [FixItSpec(message: "Remove @CloudKitField")]
                )
            ]
        )
    }

    @Test func parentsOutsideOfRecordsAreSaidSo() {
        expectExpansion(
            of: "struct Todo {\n    @CloudKitParent var list: Reference\n}",
            to: "struct Todo {\n    var list: Reference\n}",
            diagnostics: [
                DiagnosticSpec(
                    message:
                        "@CloudKitParent does nothing here: put @CloudKitRecord before the type that the property is in",
                    line: 2,
                    column: 5
                )
            ]
        )
    }
}
