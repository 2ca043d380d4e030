// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "MistKit", path: ".."),
        // The servers of the examples.
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
    ],
    targets: [
        // The lines of the README.
        .executableTarget(
            name: "Quickstart",
            dependencies: [
                .product(name: "MistKit", package: "MistKit"),
                .product(name: "MistTesting", package: "MistKit"),
            ],
            path: "Quickstart",
            exclude: ["Tests"]
        ),
        .testTarget(name: "QuickstartTests", dependencies: ["Quickstart"], path: "Quickstart/Tests"),

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
    ]
)

for target in package.targets {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .treatAllWarnings(as: .error),
    ]
}
