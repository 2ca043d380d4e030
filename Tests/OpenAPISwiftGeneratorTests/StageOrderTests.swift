import Foundation
import Testing

/// The folders of the generator are the stages that a document passes, in one direction.
struct StageOrderTests {
    /// In the order in which a document passes them. What all stages report to comes first.
    private static let stages = [
        "Diagnostics", "Parsing", "Linking", "Reading", "Resolution", "Translation", "Rendering",
    ]

    private static let sources = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources/OpenAPISwiftGenerator")

    /// The code of each file of a stage, without comments and string literals.
    private func code(of stage: String) throws -> [(file: String, code: String)] {
        let folder = Self.sources.appendingPathComponent(stage)
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        return try names.sorted().map { name in
            let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
            let code = text.replacing(/\/\/[^\n]*/, with: "").replacing(/"(\\.|[^"\\\n])*"/, with: "")
            return ("\(stage)/\(name)", code)
        }
    }

    @Test func aStageUsesTypesOfEarlierStagesOnly() throws {
        var uses: [String] = []
        var declaredLater: [String: String] = [:]
        for stage in Self.stages.reversed() {
            let files = try code(of: stage)
            #expect(!files.isEmpty, "\(stage)")
            for (file, code) in files {
                let words = Set(code.matches(of: /[A-Za-z_][A-Za-z0-9_]*/).map { String($0.output) })
                uses += words.compactMap { word in declaredLater[word].map { "\(file) uses \(word) of \($0)" } }
            }
            // A declaration that begins its line is one of the module, unless it is private to its file.
            let kinds = /^(?:public |final |indirect )*(?:struct|class|enum|protocol|typealias) ([A-Za-z_]+)/
            let declaration = kinds.anchorsMatchLineEndings()
            for (_, code) in files {
                for match in code.matches(of: declaration) { declaredLater[String(match.output.1)] = stage }
            }
        }
        #expect(uses.sorted() == [])
    }
}
