import Foundation
import PackagePlugin

/// Generates Swift from the OpenAPI documents of targets into their folders, to be kept with the sources.
///
/// ```
/// swift package generate-code-from-openapi                     # every target that has a document
/// swift package generate-code-from-openapi --target Store     # this one and those it depends on
/// ```
@main
struct GenerateOpenAPI: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) throws {
        let names = arguments.filter { $0 != "--target" }
        let named = names.isEmpty ? [] : try context.package.targets(named: names)
        let own = Set(context.package.targets.map(\.id))
        let candidates = names.isEmpty ? context.package.targets : named + named.flatMap(\.recursiveTargetDependencies)

        var seen: Set<Target.ID> = []
        var hasGenerated = false
        for target in candidates where own.contains(target.id) && seen.insert(target.id).inserted {
            let isNamed = named.contains { $0.id == target.id }
            let tool = try context.tool(named: "openapi-swift").url
            if try generate(target, isNamed: isNamed, tool: tool, package: context.package.directoryURL) {
                hasGenerated = true
            }
        }
        guard hasGenerated else {
            throw PluginError(
                "No target has a configuration file and an OpenAPI document: add "
                    + "\(GeneratorFiles.configurationNames[0]) and \(GeneratorFiles.documentNames[0]) to the folder of one."
            )
        }
    }

    /// Generates into the folder of a target; returns `false` for a target without an OpenAPI document or
    /// configuration.
    private func generate(_ target: any Target, isNamed: Bool, tool: URL, package: URL) throws -> Bool {
        guard let target = target as? SwiftSourceModuleTarget else {
            if isNamed { throw PluginError.noSwift(in: target.name) }
            return false
        }
        let sources = target.sourceFiles.map(\.url)
        guard isNamed || GeneratorFiles.areExpected(among: sources) else { return false }
        let files = try GeneratorFiles(of: target.name, among: sources)
        let output = target.directoryURL.appending(path: GeneratorFiles.outputFolder, directoryHint: .isDirectory)

        print("Generating Swift for \(target.name) from \(files.document.lastPathComponent)")
        let process = Process()
        process.executableURL = tool
        process.arguments = files.arguments(writingTo: output, plugin: "command", package: package)
        process.environment = [:]
        try process.run()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw PluginError(
                target: target.name,
                problems: ["openapi-swift ended with status \(process.terminationStatus), see what it says above"]
            )
        }
        return true
    }
}
