import BushelSources
import ExampleTesting
import Foundation
import NIOHTTP1

/// All sources on a local server, one host for each. Tests can change their documents and break the sources.
struct SampleSite: Sendable {
    /// The ways in which a source breaks.
    enum Damage: String, CaseIterable, Sendable {
        case serverError, silence, garbage, wrongShape, empty, truncated, notFound

        /// The kind of failure in the report.
        var failure: String {
            switch self {
            case .serverError, .notFound: "status"
            case .silence: "timedOut"
            case .truncated: "truncated"
            case .garbage, .wrongShape, .empty: "unreadable"
            }
        }
    }

    /// The document of each source.
    var documents: [SourceID: String]
    /// The sources that are broken.
    var damages: [SourceID: Damage] = [:]
    /// Whether responses have validators.
    var hasValidators = true

    /// Seven restore images, two releases of Xcode and four of Swift; two references are missing.
    init() {
        typealias Sample = SampleDocuments
        documents = [
            .appleCatalog: Sample.catalog(),
            .ipswMe: Sample.device(
                Sample.firmware("24B83"),
                Sample.firmware(
                    "24A335",
                    ["version": "\"15.0\"", "signed": "false", "releasedate": "\"2024-09-16T17:00:00Z\""]
                ),
                Sample.firmware(
                    "23F79",
                    ["version": "\"14.5\"", "signed": "false", "releasedate": "\"2024-05-13T17:00:00Z\""]
                )
            ),
            .appleDB: "["
                + [
                    Sample.build(),
                    Sample.build("24B83", ["version": "\"15.1\"", "beta": "", "released": "\"2024-10-28\""]),
                    Sample.build("23F79", ["version": "\"14.5\"", "beta": "", "released": "\"2024-05-13\""]),
                    Sample.build("22A380", ["version": "\"13.0\"", "beta": "", "signed": "false"]),
                ].joined(separator: ",") + "]",
            .mrMacintosh: Sample.images(
                Sample.imageRow(),
                Sample.imageRow("15.2 Beta 1", "24C5057p", "10/23/24"),
                Sample.imageRow("12.0.1", "21A559", "10/25/21", signed: "NO")
            ),
            .appleReleases: Sample.releases("Xcode 16.1 (16B40)", "Xcode 16.2 beta 3 (16C5023f)", "iOS 18.1 (22B83)"),
            .xcodeReleases: "["
                + [
                    Sample.xcode(),
                    Sample.xcode(
                        "",
                        [
                            "version": "{\"number\": \"16.2\", \"build\": \"16C5023f\", \"release\": {\"beta\": 3}}",
                            "compilers": "{\"swift\": [{\"number\": \"6.1\"}]}", "requires": "\"99.0\"",
                        ]
                    ),
                    "{\"version\": {\"number\": \"1.0\"}}",
                ].joined(separator: ",") + "]",
            .swiftOrg: "[\(["5.10", "6.0.2", "6.0.3"].map { Sample.toolchain($0) }.joined(separator: ","))]",
            .swiftVersionNet: Sample.swiftTable(("28 Oct 24", "6.0.2", "16.1"), ("16 Sep 24", "6.0", "16.0")),
        ]
    }

    /// The number of different releases in all documents.
    static let counts: [ReleaseKind: Int] = [.images: 7, .xcode: 2, .swift: 4]

    /// The sources with the addresses of the server's hosts.
    static func sources(of server: WebServer) -> [Source] {
        zip(Source.all, server.addresses).map { source, address in
            var source = source
            source.address = address + "/data"
            return source
        }
    }

    func reply(to request: WebServer.Request) -> WebServer.Reply {
        guard ["/data", "/mirror"].contains(request.path), Source.all.indices.contains(request.host) else {
            return .response(404)
        }
        let id = Source.all[request.host].id
        let text = documents[id] ?? ""
        switch damages[id] {
        case nil: break
        case .serverError: return .response(500)
        case .notFound: return .response(404, body: Array("<p>Not found".utf8))
        case .silence: return .silence
        case .garbage: return .response(200, body: [0x00, 0x01, 0xFF] + Array("garbage".utf8))
        case .wrongShape: return .response(200, body: Array("{\"message\": \"We have moved to version 5.\"}".utf8))
        case .empty: return .response(200)
        case .truncated: return .truncated(body: Array(text.utf8.prefix(20)), missing: 100)
        }
        let checksum = text.utf8.reduce(UInt64(5381)) { $0 &* 33 &+ UInt64($1) }
        let etag = "\"\(checksum)\""
        if hasValidators, request.headers["If-None-Match"] == [etag] { return .response(304) }
        return .response(200, headers: hasValidators ? [("ETag", etag)] : [], body: Array(text.utf8))
    }
}
