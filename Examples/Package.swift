// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "MistKit", path: "..")
    ],
    targets: [
        // The lines of the README.
        .executableTarget(
            name: "Quickstart",
            dependencies: [
                .product(name: "MistKit", package: "MistKit"),
                .product(name: "MistTesting", package: "MistKit"),
            ]
        ),
        .testTarget(name: "QuickstartTests", dependencies: ["Quickstart"]),
    ]
)

for target in package.targets {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .treatAllWarnings(as: .error),
    ]
}
