import Foundation
import PackagePlugin

/// Writes the Swift of the book's pages into one file for each page, which the tests of the book compile.
@main
struct DocumentationSnippets: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let book = Book.all.first(where: { $0.target == target.name }) else {
            throw UnknownBook(description: "Plugins/DocumentationSnippets has no book with the tests \(target.name).")
        }
        let tool = try context.tool(named: "SnippetExtractor").url
        return try book.pages(in: context.package.directoryURL).map { page in
            let name = page.deletingPathExtension().lastPathComponent
            let output = context.pluginWorkDirectoryURL.appending(path: "\(name).swift")
            return .buildCommand(
                displayName: "Extracting the Swift of \(page.lastPathComponent)",
                executable: tool,
                arguments: [page.path, output.path] + book.modules,
                inputFiles: [page],
                outputFiles: [output]
            )
        }
    }
}

struct UnknownBook: Error, CustomStringConvertible {
    var description: String
}
