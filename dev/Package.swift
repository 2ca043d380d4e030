// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

let package = Package(
    name: "MistKit",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.0.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
    ],
    targets: [
        .target(name: "StreamingJSON"),
        .target(
            name: "OpenAPISwiftRuntime",
            dependencies: ["StreamingJSON", .product(name: "HTTPTypes", package: "swift-http-types")]
        ),
        .target(
            name: "OpenAPISwiftAsyncHTTPClient",
            dependencies: [
                "OpenAPISwiftRuntime", .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
        .target(
            name: "OpenAPISwiftHummingbird",
            dependencies: [
                "OpenAPISwiftRuntime", .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"), .product(name: "NIOCore", package: "swift-nio"),
            ]
        ),
        .target(name: "CloudKitModel", dependencies: ["StreamingJSON"]),
        .target(
            name: "CloudKitWebServices",
            dependencies: [
                "CloudKitModel", "OpenAPISwiftRuntime", "StreamingJSON",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(
            name: "MistKit",
            dependencies: [
                "CloudKitModel", "CloudKitWebServices", "OpenAPISwiftAsyncHTTPClient", "OpenAPISwiftRuntime",
                "StreamingJSON", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "CloudKitEmulator",
            dependencies: [
                "CloudKitModel", "StreamingJSON", .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        .target(
            name: "CloudKitEmulatorServer",
            dependencies: [
                "CloudKitEmulator", "CloudKitModel", "CloudKitWebServices", "OpenAPISwiftHummingbird",
                "OpenAPISwiftRuntime", "StreamingJSON", .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"), .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        .target(
            name: "MistTesting",
            dependencies: [
                "CloudKitEmulator", "CloudKitEmulatorServer", "CloudKitModel", "MistKit", "OpenAPISwiftAsyncHTTPClient",
                "OpenAPISwiftRuntime", "StreamingJSON", .product(name: "Logging", package: "swift-log"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .testTarget(
            name: "MistKitTests",
            dependencies: ["MistKit", "CloudKitModel", "MistTesting", "OpenAPISwiftRuntime"]
        ),
        .testTarget(
            name: "CloudKitEmulatorServerTests",
            dependencies: [
                "CloudKitEmulatorServer", "CloudKitEmulator", "CloudKitModel", "MistKit", "MistTesting",
                "OpenAPISwiftAsyncHTTPClient", "OpenAPISwiftRuntime", "StreamingJSON",
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
        .treatAllWarnings(as: .error),
    ]
}
