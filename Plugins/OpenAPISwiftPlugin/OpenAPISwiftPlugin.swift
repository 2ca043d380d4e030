import Foundation
import PackagePlugin

/// Generates Swift from the OpenAPI document of a target when the target is built.
///
/// It runs again when the document, the configuration or another YAML or JSON file of the target changes. A file
/// outside of the target's folder may be referred to as well, but its changes are not noticed.
@main
struct OpenAPISwiftPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        guard let target = target as? SwiftSourceModuleTarget else { throw PluginError.noSwift(in: target.name) }
        let files = try GeneratorFiles(of: target.name, among: target.sourceFiles.map(\.url))
        return [
            try command(
                for: files,
                of: target.name,
                tool: context.tool(named: "openapi-swift").url,
                folder: context.pluginWorkDirectoryURL,
                package: context.package.directoryURL
            )
        ]
    }

    private func command(
        for files: GeneratorFiles,
        of target: String,
        tool: URL,
        folder: URL,
        package: URL
    ) throws -> Command {
        let output = folder.appending(path: GeneratorFiles.outputFolder, directoryHint: .isDirectory)
        return .buildCommand(
            displayName: "Generating Swift for \(target) from \(files.document.lastPathComponent)",
            executable: tool,
            arguments: files.arguments(writingTo: output, plugin: "build", package: package),
            environment: [:],
            inputFiles: [files.configuration, files.document] + files.others,
            outputFiles: GeneratorFiles.outputNames.map { output.appending(path: $0) }
        )
    }
}

#if canImport(XcodeProjectPlugin)
    import XcodeProjectPlugin

    extension OpenAPISwiftPlugin: XcodeBuildToolPlugin {
        func createBuildCommands(context: XcodePluginContext, target: XcodeTarget) throws -> [Command] {
            let files = try GeneratorFiles(of: target.displayName, among: target.inputFiles.map(\.url))
            return [
                try command(
                    for: files,
                    of: target.displayName,
                    tool: context.tool(named: "openapi-swift").url,
                    folder: context.pluginWorkDirectoryURL,
                    package: context.xcodeProject.directoryURL
                )
            ]
        }
    }
#endif
