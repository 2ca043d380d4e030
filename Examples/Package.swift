// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "MistKit", path: ".."),
        // What middleware sees: requests, responses and header fields.
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        // The identity of articles: SHA-256.
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        // The servers of the examples.
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
    ],
    targets: [
        // The lines of "Getting started".
        .executableTarget(
            name: "Quickstart",
            dependencies: [
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "MistTesting", package: "MistKit"),
            ],
            path: "Quickstart"
        ),

        // The lines of the store's first page.
        .executableTarget(
            name: "Todos",
            dependencies: [
                .product(name: "MistModels", package: "MistKit"),
                .product(name: "MistStore", package: "MistKit"),
                .product(name: "MistTesting", package: "MistKit"),
            ],
            path: "Todos"
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

        // A client library for a service of another company, with a stub of the service from the same document.
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
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "OpenAPISwiftRuntime", package: "MistKit"),
            ],
            path: "Peated/Stub",
            plugins: [.plugin(name: "OpenAPISwiftPlugin", package: "MistKit")]
        ),
        .executableTarget(
            name: "PeatedCommand",
            dependencies: [
                "Peated", "PeatedStub",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "OpenAPISwiftAsyncHTTPClient", package: "MistKit"),
                .product(name: "OpenAPISwiftHummingbird", package: "MistKit"),
            ],
            path: "Peated/Command"
        ),
        .testTarget(
            name: "PeatedTests",
            dependencies: [
                "Peated", "PeatedStub",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "OpenAPISwiftAsyncHTTPClient", package: "MistKit"),
                .product(name: "OpenAPISwiftHummingbird", package: "MistKit"),
            ],
            path: "Peated/Tests"
        ),

        // An aggregator of feeds: from the bytes of a response to a feed.
        .target(
            name: "CelestraFeeds",
            dependencies: [.product(name: "Crypto", package: "swift-crypto")],
            path: "Celestra/Feeds"
        ),
        .testTarget(
            name: "CelestraFeedsTests",
            dependencies: ["CelestraFeeds"],
            path: "Celestra/FeedsTests"
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
