// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15)],
    products: [
        // The command is not a target `peated`, whose name would differ from the library's in a capital letter only.
        .executable(name: "peated", targets: ["PeatedCommand"])
    ],
    dependencies: [
        .package(name: "MistKit", path: ".."),
        // HTTP requests, responses and header fields, for middleware.
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        // SHA-256, for record names and entity tags.
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        // Celestra and Bushel: an HTTP client, and command lines.
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        // The header fields of AsyncHTTPClient, and the web server of tests, which also breaks connections and does not
        // respond.
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        // The size limit and the errors of compressed responses, for AsyncHTTPClient.
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.26.0"),
        // The log lines of embedded emulators, servers and functions.
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        // SQLite, for what Peated and Celestra keep on this machine.
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
        // The servers of the examples.
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: []),
    ],
    targets: [
        // The code of "Getting started".
        .executableTarget(
            name: "Quickstart",
            dependencies: [
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "MistTesting", package: "MistKit"),
            ],
            path: "Quickstart"
        ),

        // The code of the store's first page.
        .executableTarget(
            name: "Todos",
            dependencies: [
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "MistStore", package: "MistKit"),
                .product(name: "MistTesting", package: "MistKit"),
            ],
            path: "Todos"
        ),

        // To-dos that are always here: a program over the store, with two folders that stand for two devices.
        .target(
            name: "TodoLists",
            dependencies: [
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "MistStore", package: "MistKit"),
            ],
            path: "TodoList/Lists"
        ),
        .executableTarget(
            name: "todo",
            dependencies: [
                "ProgramSupport", "TodoLists",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CloudKitEmulator", package: "MistKit"),
                .product(name: "CloudKitEmulatorServer", package: "MistKit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "MistStore", package: "MistKit"),
            ],
            path: "TodoList/Command"
        ),
        .testTarget(
            name: "TodoListTests",
            dependencies: [
                "ExampleTesting", "TodoLists", "todo",
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "MistStore", package: "MistKit"),
                .product(name: "MistTesting", package: "MistKit"),
            ],
            path: "TodoList/Tests"
        ),

        // A service and its client from one document, generated with each build.
        .target(
            name: "CatServiceAPI",
            dependencies: [.product(name: "OpenAPISwiftRuntime", package: "MistKit")],
            path: "CatService/API",
            plugins: [.plugin(name: "OpenAPISwiftPlugin", package: "MistKit")]
        ),
        .executableTarget(
            name: "CatServer",
            dependencies: [
                "CatServiceAPI",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "OpenAPISwiftHummingbird", package: "MistKit"),
            ],
            path: "CatService/Server"
        ),
        .executableTarget(
            name: "CatClient",
            dependencies: [
                "CatServiceAPI",
                .product(name: "OpenAPISwiftAsyncHTTPClient", package: "MistKit"),
            ],
            path: "CatService/Client"
        ),
        .testTarget(
            name: "CatServiceTests",
            dependencies: [
                "CatClient", "CatServer",
                .product(name: "HummingbirdTesting", package: "hummingbird"),
            ],
            path: "CatService/Tests"
        ),

        // A client library for another company's service, with a stub of the service, both from one document.
        .target(
            name: "Peated",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "OpenAPISwiftRuntime", package: "MistKit"),
            ],
            path: "Peated/Client",
            plugins: [.plugin(name: "OpenAPISwiftPlugin", package: "MistKit")]
        ),
        .target(
            name: "PeatedStub",
            dependencies: [
                "Peated",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "OpenAPISwiftRuntime", package: "MistKit"),
            ],
            path: "Peated/Stub",
            plugins: [.plugin(name: "OpenAPISwiftPlugin", package: "MistKit")]
        ),
        // What a user has on this machine: feeds, pictures, and a queue of what is to be sent.
        .target(
            name: "PeatedOffline",
            dependencies: [
                "Peated",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "MistMutationQueue", package: "MistKit"),
                .product(name: "OpenAPISwiftRuntime", package: "MistKit"),
            ],
            path: "Peated/Offline"
        ),
        .executableTarget(
            name: "PeatedCommand",
            dependencies: [
                "Peated", "PeatedOffline", "PeatedStub",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MistMutationQueue", package: "MistKit"),
                .product(name: "OpenAPISwiftAsyncHTTPClient", package: "MistKit"),
                .product(name: "OpenAPISwiftHummingbird", package: "MistKit"),
            ],
            path: "Peated/Command"
        ),
        .testTarget(
            name: "PeatedTests",
            dependencies: [
                "ExampleTesting", "Peated", "PeatedCommand", "PeatedOffline", "PeatedStub",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "MistMutationQueue", package: "MistKit"),
                .product(name: "OpenAPISwiftAsyncHTTPClient", package: "MistKit"),
                .product(name: "OpenAPISwiftHummingbird", package: "MistKit"),
            ],
            path: "Peated/Tests"
        ),

        // Shared by the programs below: text of web pages, polite requests to hosts, and connections and output of
        // commands.
        .target(name: "WebText", path: "WebText", exclude: ["Tests"]),
        .testTarget(
            name: "WebTextTests",
            dependencies: ["ExampleTesting", "WebText"],
            path: "WebText/Tests"
        ),
        .target(
            name: "WebFetching",
            dependencies: [
                "WebText",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPCompression", package: "swift-nio-extras"),
            ],
            path: "WebFetching",
            exclude: ["Tests"]
        ),
        .testTarget(
            name: "WebFetchingTests",
            dependencies: [
                "ExampleTesting", "WebFetching",
                .product(name: "MistTesting", package: "MistKit"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "WebFetching/Tests"
        ),
        .target(
            name: "ProgramSupport",
            dependencies: [
                "WebFetching",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CloudKitEmulator", package: "MistKit"),
                .product(name: "CloudKitEmulatorServer", package: "MistKit"),
                .product(name: "CloudKitSchema", package: "MistKit"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MistModels", package: "MistKit"),
            ],
            path: "ProgramSupport"
        ),
        // Test support: a web server that also breaks connections and does not respond, and a way to run programs.
        .target(
            name: "ExampleTesting",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "ExampleTesting"
        ),

        // Celestra, an aggregator of feeds. Its first part parses the bytes of a response to a feed.
        .target(
            name: "CelestraFeeds",
            dependencies: ["WebText", .product(name: "Crypto", package: "swift-crypto")],
            path: "Celestra/Feeds"
        ),
        .testTarget(
            name: "CelestraFeedsTests",
            dependencies: ["CelestraFeeds", "ExampleTesting", "WebText"],
            path: "Celestra/FeedsTests"
        ),
        // The records of feeds and articles, and the changes that a run makes to them.
        .target(
            name: "CelestraUpdates",
            dependencies: [
                "CelestraFeeds", "WebFetching",
                .product(name: "CloudKitSchema", package: "MistKit"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "MistModels", package: "MistKit"),
            ],
            path: "Celestra/Updates"
        ),
        // Serves the feeds and articles of a database to browsers over HTTP.
        .target(
            name: "CelestraServing",
            dependencies: [
                "CelestraUpdates",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Celestra/Serving",
            exclude: ["README.md"]
        ),
        .testTarget(
            name: "CelestraServingTests",
            dependencies: [
                "CelestraServing", "CelestraUpdates", "ExampleTesting", "celestra",
                .product(name: "CloudKitEmulator", package: "MistKit"),
                .product(name: "CloudKitEmulatorServer", package: "MistKit"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "MistTesting", package: "MistKit"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "Celestra/ServingTests"
        ),
        .executableTarget(
            name: "celestra",
            dependencies: [
                "CelestraFeeds", "CelestraServing", "CelestraUpdates", "ProgramSupport", "WebFetching",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "CloudKitSchema", package: "MistKit"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "MistMutationQueue", package: "MistKit"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Celestra/Command"
        ),
        .testTarget(
            name: "CelestraTests",
            dependencies: [
                "CelestraFeeds", "CelestraUpdates", "ExampleTesting", "ProgramSupport", "WebFetching", "celestra",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CloudKitEmulator", package: "MistKit"),
                .product(name: "CloudKitEmulatorServer", package: "MistKit"),
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "MistMutationQueue", package: "MistKit"),
                .product(name: "MistTesting", package: "MistKit"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Celestra/Tests"
        ),

        // Bushel, a history of versions. Its first part parses the bytes of a source to releases.
        .target(
            name: "BushelSources",
            dependencies: [
                "CelestraFeeds", "WebText",
                .product(name: "MistModels", package: "MistKit"),
            ],
            path: "Bushel/Sources"
        ),
        // Merges the statements of all sources into one history, and writes the changes to the database.
        .target(
            name: "BushelHistory",
            dependencies: [
                "BushelSources", "WebFetching", "WebText",
                .product(name: "CloudKitSchema", package: "MistKit"),
                .product(name: "MistModels", package: "MistKit"),
            ],
            path: "Bushel/History"
        ),
        .executableTarget(
            name: "bushel",
            dependencies: [
                "BushelHistory", "BushelSources", "ProgramSupport", "WebFetching",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CloudKitSchema", package: "MistKit"),
                .product(name: "MistModels", package: "MistKit"),
            ],
            path: "Bushel/Command"
        ),
        .testTarget(
            name: "BushelTests",
            dependencies: [
                "BushelHistory", "BushelSources", "ExampleTesting", "ProgramSupport", "WebFetching", "bushel",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "CloudKitEmulator", package: "MistKit"),
                .product(name: "CloudKitEmulatorServer", package: "MistKit"),
                .product(name: "CloudKitSchema", package: "MistKit"),
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "MistTesting", package: "MistKit"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "Bushel/Tests"
        ),

        // The update of Celestra as a function of AWS Lambda: the runtime interface, the function, and their tests.
        .target(
            name: "LambdaRuntime",
            dependencies: [
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "CelestraLambda/Runtime"
        ),
        .executableTarget(
            name: "CelestraLambda",
            dependencies: [
                "CelestraUpdates", "LambdaRuntime", "WebFetching",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            path: "CelestraLambda/Function"
        ),
        .testTarget(
            name: "CelestraLambdaTests",
            dependencies: [
                "CelestraLambda", "CelestraUpdates", "ExampleTesting", "LambdaRuntime", "WebFetching",
                .product(name: "CloudKitEmulator", package: "MistKit"),
                .product(name: "CloudKitEmulatorServer", package: "MistKit"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "MistTesting", package: "MistKit"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            path: "CelestraLambda/Tests"
        ),
    ]
)

for target in package.targets {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .treatAllWarnings(as: .error),
    ]
}
