import Foundation

/// SplitMix64: the same seed gives the same random numbers.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    /// The seed of this run: `MISTKIT_SEED`, or a random one. Failing tests print it.
    package static let seed: UInt64 =
        ProcessInfo.processInfo.environment["MISTKIT_SEED"].flatMap { UInt64($0) } ?? .random(in: .min ... .max)

    private var state: UInt64

    package init(seed: UInt64 = SeededGenerator.seed) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
