import Foundation

/// A target of tests with the pages whose Swift it compiles.
///
/// A plugin cannot import a library, so the plugin compiles this file, and so do the tests.
struct Book {
    /// The target of tests.
    var target: String
    /// Pages, and folders of pages, below the folder of the package.
    var paths: [String]
    /// The modules that each page imports.
    var modules: [String]

    /// All books.
    static let all = [
        Book(
            target: "MistKitDocumentationTests",
            paths: ["README.md", "Sources/MistKit/MistKit.docc"],
            modules: ["Foundation", "MistModels", "MistTesting", "Testing"]
        ),
        Book(
            target: "MistStoreDocumentationTests",
            paths: ["Sources/MistStore/MistStore.docc", "Sources/MistMutationQueue/MistMutationQueue.docc"],
            modules: ["Foundation", "MistModels", "MistStore", "MistTesting", "Testing"]
        ),
        Book(
            target: "OpenAPISwiftDocumentationTests",
            paths: ["Sources/OpenAPISwiftRuntime/OpenAPISwiftRuntime.docc"],
            modules: ["Foundation", "HTTPTypes", "OpenAPISwiftRuntime", "Testing"]
        ),
    ]

    /// Finds the pages.
    /// - Parameter package: The folder of the package.
    /// - Returns: Their paths, in order.
    /// - Throws: An error where a folder cannot be read.
    func pages(in package: URL) throws -> [URL] {
        try paths.flatMap { path in
            let url = package.appending(path: path)
            guard !path.hasSuffix(".md") else { return [url] }
            return try FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: nil)
                .filter { $0.pathExtension == "md" }
                .sorted { $0.path < $1.path }
        }
    }
}
