// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        // The package that is measured.
        .package(name: "MistKit", path: ".."),
        // The server of the streaming benchmark, and the types that its generated code and its configuration name.
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        // The baseline of the store's queries.
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
        // The signature of a call, measured on its own with the library that the client uses.
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    ],
    targets: [
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                .product(name: "CloudKitModel", package: "MistKit"),
                .product(name: "MistKit", package: "MistKit"),
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "OpenAPISwiftRuntime", package: "MistKit"),
                .product(name: "StreamingJSON", package: "MistKit"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .executableTarget(
            name: "GeneratorBenchmarks",
            dependencies: [
                // Run as a separate process, as users run it.
                .product(name: "openapi-swift", package: "MistKit")
            ]
        ),
        // One call of a generated client to a generated server, against the same call by hand.
        .executableTarget(
            name: "Calls",
            dependencies: [
                .product(name: "OpenAPISwiftRuntime", package: "MistKit"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            exclude: ["openapi-config.yaml", "openapi.yaml"]
        ),
        // A gigabyte each way between two processes, and the memory that they need for it.
        .executableTarget(
            name: "Streaming",
            dependencies: [
                .product(name: "OpenAPISwiftAsyncHTTPClient", package: "MistKit"),
                .product(name: "OpenAPISwiftHummingbird", package: "MistKit"),
                .product(name: "OpenAPISwiftRuntime", package: "MistKit"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            exclude: ["openapi-config.yaml", "openapi.yaml"]
        ),
        // Mutations that a queue sends, beside a bare loop of the generated client.
        .executableTarget(
            name: "QueueBenchmarks",
            dependencies: [
                .product(name: "MistMutationQueue", package: "MistKit"),
                .product(name: "OpenAPISwiftAsyncHTTPClient", package: "MistKit"),
                .product(name: "OpenAPISwiftHummingbird", package: "MistKit"),
                .product(name: "OpenAPISwiftRuntime", package: "MistKit"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ],
            exclude: ["openapi-config.yaml", "openapi.yaml"]
        ),
        // A hundred thousand records of an emulator, beside the same loop in Python.
        .executableTarget(
            name: "RecordStreams",
            dependencies: [
                .product(name: "CloudKitEmulator", package: "MistKit"),
                .product(name: "CloudKitEmulatorServer", package: "MistKit"),
                .product(name: "CloudKitModel", package: "MistKit"),
                .product(name: "MistKit", package: "MistKit"),
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["stream.py"]
        ),
        // Imports and exports of the command line, beside the bare loop of the client.
        .executableTarget(
            name: "TransferBenchmarks",
            dependencies: [
                .product(name: "CloudKitEmulator", package: "MistKit"),
                .product(name: "CloudKitEmulatorServer", package: "MistKit"),
                .product(name: "CloudKitModel", package: "MistKit"),
                .product(name: "MistKit", package: "MistKit"),
                .product(name: "StreamingJSON", package: "MistKit"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // The promises of the store about speed and size, each beside its baseline.
        .executableTarget(
            name: "StoreBenchmarks",
            dependencies: [
                .product(name: "CloudKitEmulator", package: "MistKit"),
                .product(name: "CloudKitEmulatorServer", package: "MistKit"),
                .product(name: "CloudKitModel", package: "MistKit"),
                .product(name: "MistKit", package: "MistKit"),
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "MistStore", package: "MistKit"),
                .product(name: "MistTesting", package: "MistKit"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
    ]
)

for target in package.targets {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
    ]
}
