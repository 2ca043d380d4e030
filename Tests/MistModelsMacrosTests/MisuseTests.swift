import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// What is wrong is said in a sentence, with the way out where there is one.
struct MisuseTests {
    /// A struct with one wrong member: what is said of it, and what the fix-it makes of it.
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
            message: "\"a b\" is no name of a field: they begin with a letter and hold letters, digits and underscores"
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
            message: "the field \"title\" is the property title's already"
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
                        "@CloudKitRecord is for structs: a record is a value, and what it was is compared with what it is",
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
                        "\"1st\" is no name of a record type: they begin with a letter and hold letters, digits and underscores",
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
}
