public import Logging
public import Tracing

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The settings of a queue.
public struct MutationQueueConfiguration: Sendable {
    /// The most mutations that are sent at a time, each of another entity; 4, and at least 1. With 1, the effects of each
    /// answer are in the file before the next mutation is sent.
    public var concurrency = 4
    /// The limit of attempts of mutations that are added without one; 10.
    public var attempts = 10
    /// The most that the queue waits after a first attempt that failed; 1 second. See
    /// ``MutationDecision/again(after:_:)``.
    public var shortestBackOff = Duration.seconds(1)
    /// The most that the queue waits by itself after any attempt; 5 minutes.
    public var longestBackOff = Duration.seconds(300)
    /// How long an attempt may take; 60 seconds. An attempt that takes longer is cancelled and counts as failed,
    /// whether its closure returns or not. The queue looks once in a ``pollInterval``.
    public var deadline = Duration.seconds(60)
    /// The version of the program's mutations; 1. Increase it when the form of the JSON changes, and read earlier forms
    /// in ``MutationHandlers/readOlder``.
    public var version = 1
    /// How often ``MutationQueue/run()`` and observations look for what other processes have written; a quarter of a
    /// second.
    public var pollInterval = Duration.milliseconds(250)
    /// The logger for the queue's log lines, which have no content of mutations and no texts of errors. The default one
    /// writes warnings only.
    public var logger = Self.quietLogger
    /// The tracer for the queue's spans; `nil` for the one of the process.
    public var tracer: (any Tracer)?
    /// The time, for tests.
    public var clock: @Sendable () -> Date = { Date() }
    /// A random number from 0 up to 1, for tests.
    public var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
    /// The identifiers of mutations, for tests.
    public var makeID: @Sendable () -> MutationID = { .random() }

    /// Makes the default settings.
    public init() {}

    private static var quietLogger: Logger {
        var logger = Logger(label: "MistMutationQueue")
        logger.logLevel = .warning
        return logger
    }
}
