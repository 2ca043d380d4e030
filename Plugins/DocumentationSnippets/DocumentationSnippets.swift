import Foundation
import PackagePlugin

/// Writes the Swift of the book's pages into one file for each page, which the tests of the book compile.
@main
struct DocumentationSnippets: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let book = Book.all.first(where: { $0.target == target.name }) else {
            throw UnknownBook(description: "Plugins/DocumentationSnippets has no book with the tests \(target.name).")
        }
        let pages = try book.pages(in: context.package.directoryURL)
        let folder = context.pluginWorkDirectoryURL
        return [
            .buildCommand(
                displayName: "Extracting the Swift of the pages of \(target.name)",
                executable: try context.tool(named: "SnippetExtractor").url,
                arguments: [folder.path, book.modules.joined(separator: ",")] + pages.map(\.path),
                inputFiles: pages,
                outputFiles: pages.map { page in
                    folder.appending(path: "\(page.deletingPathExtension().lastPathComponent).swift")
                }
            )
        ]
    }
}

struct UnknownBook: Error, CustomStringConvertible {
    var description: String
}
