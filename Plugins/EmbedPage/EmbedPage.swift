import Foundation
import PackagePlugin

/// Writes the files of the console's page as a Swift file, so that they are part of the program: a single file that is
/// copied to another machine has them, too.
@main
struct EmbedPage: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let target = target.sourceModule else { return [] }
        let folder = target.directoryURL.appending(path: "Page")
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { name in
            var isFolder: ObjCBool = false
            let path = folder.appending(path: name).path
            return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
                && !name.split(separator: "/").contains { $0.hasPrefix(".") }
        }.sorted()
        let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedPage.swift")
        return [
            .buildCommand(
                displayName: "Embedding the console's page",
                executable: try context.tool(named: "PageEmbedder").url,
                arguments: [output.path, folder.path] + files,
                inputFiles: files.map { folder.appending(path: $0) },
                outputFiles: [output]
            )
        ]
    }
}
