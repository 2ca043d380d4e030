import CloudKitEmulatorServer
import MistModels
import MistTesting
import Testing

/// The Swift of "Retry and throttling", and of the faults in "Testing your program".
@Suite(.serialized)
struct RetryTests {
    @Test func aBusyServiceIsAskedAgain() async throws {
        let busy = FaultRule(.refuse(.tryAgainLater), on: "records/modify", calls: .first(3))
        try await withCloudKitEmulator(faults: [busy]) { emulator in
            let patient = RetryPolicy(maximumAttempts: 4, baseDelay: .zero, deadline: .seconds(3600))
            let database = emulator.service(as: .user, retryPolicy: patient).privateDatabase
            let feed = try await database.save(Feed.swift)
            #expect(feed.title == "Swift.org")
            #expect(emulator.faults.requests.count == 4)
        }
    }

    @Test func itGivesUpWithTheLastError() async throws {
        func save(in database: CloudKitDatabase) async throws {
            do {
                try await database.save(Feed.swift)
                Issue.record("A service that is never there took it.")
            } catch let error as CloudKitError {
                print(error.code, "after", error.attempts, "attempts")  // TRY_AGAIN_LATER after 4 attempts
                #expect(error.attempts == 4)
                #expect(error.isTransient)
            }
        }
        try await withCloudKitEmulator(faults: [FaultRule(.refuse(.tryAgainLater), calls: .all)]) { emulator in
            let policy = RetryPolicy(maximumAttempts: 4, baseDelay: .zero, deadline: .seconds(3600))
            try await save(in: emulator.service(as: .user, retryPolicy: policy).privateDatabase)
        }
    }

    @Test func aLostReplyLosesNothing() async throws {
        try await withCloudKitEmulator { emulator in
            let policy = RetryPolicy(baseDelay: .zero, deadline: .seconds(3600))
            let database = emulator.service(as: .user, retryPolicy: policy).privateDatabase
            emulator.faults.add(FaultRule(.loseReply, on: "records/modify", calls: .only(1)))

            try await database.save(Feed.swift, named: "feed-swift")

            let feeds = try await database.records(matching: Query<Feed>()).collect()
            #expect(feeds.map(\.recordName) == ["feed-swift"])
        }
    }

    @Test func policiesForDifferentPrograms() {
        // A server whose callers wait for seconds.
        let impatient = RetryPolicy(maximumAttempts: 3, baseDelay: .milliseconds(200), deadline: .seconds(5))
        // A job at night.
        let patient = RetryPolicy(maximumAttempts: 20, maximumDelay: .seconds(60), deadline: .seconds(1800))
        // A test, which wants to see each failure.
        let strict = RetryPolicy.never
        #expect(impatient != patient && strict.maximumAttempts == 1)
    }

    @Test func aThrottledProgramTellsItsCaller() async throws {
        let throttled = FaultRule(.throttle(retryAfter: 90))
        try await withCloudKitEmulator(faults: [throttled]) { emulator in
            let library = Library(database: emulator.service(as: .user).privateDatabase)
            do {
                let best = try await library.best("programming")
                print(best.count)
                Issue.record("The service should have been busy.")
            } catch let error as CloudKitError {
                #expect(error.code == .throttled)
                #expect(error.retryAfter == .seconds(90))
            }
        }
    }
}
