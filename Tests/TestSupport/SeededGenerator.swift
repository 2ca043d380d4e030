import Foundation

/// SplitMix64: random numbers that a seed repeats.
package struct SeededGenerator: RandomNumberGenerator {
    /// The seed of this run: `MISTKIT_SEED`, or a new one, which failing tests print.
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
