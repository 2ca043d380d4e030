import ArgumentParser
import CloudKitSchema
import Foundation

/// A schema file on the command line; `-` is standard input.
struct SchemaFile: ExpressibleByArgument {
    static var defaultCompletionKind: CompletionKind { .schemaFile }

    private let file: InputFile

    init(argument: String) {
        file = InputFile(path: argument)
    }

    var path: String { file.path }
    var isStandardInput: Bool { file.isStandardInput }

    /// The name of the file in messages.
    var title: String { file.title }

    func text() throws(CommandError) -> String {
        guard let text = String(bytes: try file.bytes(), encoding: .utf8) else {
            throw CommandError(
                code: .data,
                message: "\(title) is not text in UTF-8.",
                remedy: "Give a schema file, as `mistkit schema export` and `xcrun cktool export-schema` write them."
            )
        }
        return text
    }

    /// Reads the file.
    ///
    /// - Throws: ``CommandError``, after the line with the mistake was shown.
    func document() throws(CommandError) -> SchemaDocument { try document(of: text()) }

    /// Reads the text of the file.
    ///
    /// - Throws: ``CommandError``, after the line with the mistake was shown.
    func document(of text: String) throws(CommandError) -> SchemaDocument {
        do {
            return try SchemaDocument(parsing: text)
        } catch {
            Terminal.writeError("\(title), \(error)")
            throw CommandError(
                code: .data,
                message: "\(title) cannot be read as a schema.",
                remedy: "Correct the line above."
            )
        }
    }

    /// Reads the file, and checks the rules of schemas.
    ///
    /// - Throws: ``CommandError``, after each mistake was shown with its line.
    func validDocument() throws(CommandError) -> SchemaDocument {
        let document = try document()
        let problems = document.problems()
        guard problems.isEmpty else {
            for problem in problems { Terminal.writeError("\(title), \(problem)") }
            throw CommandError(
                code: .data,
                message: "\(title) breaks \(problems.count == 1 ? "a rule" : "\(problems.count) rules") of schemas.",
                remedy: "Correct the \(problems.count == 1 ? "line" : "lines") above."
            )
        }
        return document
    }
}
