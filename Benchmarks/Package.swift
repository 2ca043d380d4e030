// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        // What is measured.
        .package(name: "MistKit", path: "..")
    ],
    targets: [
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                .product(name: "CloudKitModel", package: "MistKit"),
                .product(name: "StreamingJSON", package: "MistKit"),
            ]
        ),
        .executableTarget(
            name: "GeneratorBenchmarks",
            dependencies: [
                // Run as a process of its own, as people run it.
                .product(name: "openapi-swift", package: "MistKit")
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
