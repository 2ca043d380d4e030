import ArgumentParser
import CloudKitSchema
import Foundation

/// `mistkit init`
struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Write the first files of a project: settings, a schema, a record type and a test.",
        discussion: """
            The settings have no credentials, so that commands work on the embedded emulator. The record type in Swift is generated from the \
            schema. A package file is written where there is none. No file that exists is changed.

            Examples:
              mistkit init
              mistkit init Notes --container iCloud.com.example.notes
            """
    )

    @Argument(help: "The folder of the project, which is made where it does not exist.", completion: .directory)
    var folder = "."

    @Option(help: ArgumentHelp("The container, such as iCloud.com.example.app.", valueName: "identifier"))
    var container: String?

    @Option(
        name: .customLong("mistkit"),
        help: ArgumentHelp(
            "Where the clone of MistKit is, as seen from the folder of the project.",
            valueName: "folder"
        ),
        completion: .directory
    )
    var clone = "../MistKit"

    func run() async throws {
        let project = NewProject(folder: folder, container: container, clone: clone)
        for path in try project.write() { Terminal.writeLine(path) }
        Terminal.writeError(
            """
            Next:
              \(folder == "." ? "" : "cd \(folder) && ")mistkit schema import schema.ckdb
              mistkit records create --type Note --field title='Buy milk' --field rating=4
              mistkit records query Note
              swift test
            """
        )
        if !project.hasClone {
            Terminal.writeHint(
                "Package.swift expects a clone of MistKit in \(clone), where there is none. Name its folder with --mistkit."
            )
        }
    }
}

/// The first files of a project.
struct NewProject {
    /// A file, by its path within the project.
    struct File: Hashable {
        var path: String
        var text: String
    }

    let folder: String
    /// The name of the package and its target.
    let name: String
    let container: String
    let clone: String

    /// - Parameters:
    ///   - folder: The folder of the project. Its name becomes the name of the package.
    ///   - container: The container; `nil` for one that is made from the name.
    ///   - clone: Where MistKit is, as seen from the folder.
    init(folder: String, container: String?, clone: String) {
        self.folder = folder
        let last = URL(fileURLWithPath: folder).standardizedFileURL.lastPathComponent
        let letters = last.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
        name = letters.first?.isLetter == true ? letters.prefix(1).uppercased() + letters.dropFirst() : "App"
        self.container = container ?? "iCloud.com.example.\(name.lowercased())"
        self.clone = clone
    }

    /// Whether the clone is there.
    var hasClone: Bool {
        let root = URL(fileURLWithPath: folder, isDirectory: true)
        let manifest = URL(fileURLWithPath: clone, isDirectory: true, relativeTo: root)
            .appendingPathComponent("Package.swift")
        return FileManager.default.fileExists(atPath: manifest.path)
    }

    private static let schema = """
        DEFINE SCHEMA

            RECORD TYPE Note (
                "___recordID" REFERENCE QUERYABLE,
                due           TIMESTAMP QUERYABLE SORTABLE,
                rating        INT64 QUERYABLE SORTABLE,
                title         STRING QUERYABLE SORTABLE SEARCHABLE,
                GRANT READ TO "_world",
                GRANT CREATE TO "_icloud",
                GRANT WRITE TO "_creator"
            );

        """

    private var package: String {
        """
        // swift-tools-version: 6.2
        import PackageDescription

        let package = Package(
            name: "\(name)",
            platforms: [.macOS(.v15)],
            dependencies: [
                .package(name: "MistKit", path: "\(clone)")
            ],
            targets: [
                .target(
                    name: "\(name)",
                    dependencies: [.product(name: "MistModels", package: "MistKit")]
                ),
                .testTarget(
                    name: "\(name)Tests",
                    dependencies: [
                        "\(name)",
                        .product(name: "MistModels", package: "MistKit"),
                        .product(name: "MistTesting", package: "MistKit"),
                    ]
                ),
            ]
        )

        """
    }

    private var test: String {
        """
        import MistModels
        import MistTesting
        import Testing

        @testable import \(name)

        struct NoteTests {
            /// The emulator keeps the rules of the service, in this process and without an account.
            @Test func aNoteIsSavedAndFound() async throws {
                try await withCloudKitEmulator { emulator in
                    let database = emulator.service(as: .user).privateDatabase
                    try await database.save(Note(rating: 4, title: "Buy milk"))
                    let found = try await database.records(matching: Query<Note> { Filter(\\.rating > 3) }).collect(limit: 10)
                    #expect(found.map(\\.title) == ["Buy milk"])
                }
            }
        }

        """
    }

    /// The files, the package file last.
    ///
    /// - Throws: ``CommandError`` only where the schema above is wrong.
    func files() throws -> [File] {
        let schema = try SchemaDocument(parsing: Self.schema).schema
        let models = RecordModels(of: schema, recordTypes: nil).files.map {
            File(path: "Sources/\(name)/\($0.name)", text: $0.source)
        }
        return [
            File(path: "mistkit.json", text: "{\n  \"container\": \"\(container)\"\n}\n"),
            File(path: "schema.ckdb", text: Self.schema),
        ] + models + [
            File(path: "Tests/\(name)Tests/NoteTests.swift", text: test), File(path: "Package.swift", text: package),
        ]
    }

    /// Writes the files. A package file that exists stays.
    ///
    /// - Returns: The paths of the files that were written.
    /// - Throws: ``CommandError`` where another file exists, or one cannot be written.
    func write() throws -> [String] {
        guard clone.allSatisfy({ $0 != "\"" && $0 != "\\" && !$0.isNewline }),
            container.allSatisfy({ $0 != "\"" && $0 != "\\" && !$0.isNewline })
        else {
            throw CommandError(
                code: .usage,
                message: "The container or the folder of MistKit has a character that cannot be in a file of settings.",
                remedy: "Leave out quotation marks, backslashes and line ends."
            )
        }
        let root = URL(fileURLWithPath: folder, isDirectory: true)
        let manager = FileManager.default
        let files = try files().filter { file in
            file.path != "Package.swift" || !manager.fileExists(atPath: root.appendingPathComponent(file.path).path)
        }
        if let existing = files.first(where: { manager.fileExists(atPath: root.appendingPathComponent($0.path).path) })
        {
            throw CommandError(
                code: .usage,
                message: "\(existing.path) exists already; nothing was written.",
                remedy: "Name another folder, or move the file away."
            )
        }
        for file in files {
            let url = root.appendingPathComponent(file.path)
            do {
                try manager.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
                try Data(file.text.utf8).write(to: url)
            } catch {
                throw CommandError.unwritable(url.relativePath, error)
            }
        }
        return files.map(\.path)
    }
}
