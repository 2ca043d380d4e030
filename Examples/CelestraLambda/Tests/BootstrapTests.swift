import CelestraUpdates
import CloudKitEmulator
import ExampleTesting
import Foundation
import MistModels
import MistTesting
import Testing

/// The built program, started as Lambda starts it.
@Suite(.timeLimit(.minutes(5)))
struct BootstrapTests {
    private func run(_ environment: [String: String]) async throws -> RunningProgram.Outcome {
        try await RunningProgram.run(RunningProgram.built("CelestraLambda"), environment: environment)
    }

    @Test func aSettingThatIsMissingIsAnErrorOfTheBeginning() async throws {
        let interface = FakeRuntimeInterface(next: [])
        try await interface.serve { address in
            let program = try await run(["AWS_LAMBDA_RUNTIME_API": address])
            #expect(program.status == 1)
            #expect(program.errors.contains("Celestra.Settings: MISTKIT_CONTAINER is not set."))
        }
        #expect(interface.reports.map(\.path) == ["/init/error"])
        #expect(interface.reports.map(\.errorType) == ["Celestra.Settings"])
    }

    @Test func outsideOfLambdaItSaysWhereItRuns() async throws {
        let program = try await run([:])
        #expect(program.status == 1)
        #expect(
            program.errors
                == "celestra: AWS_LAMBDA_RUNTIME_API is not set. This program runs on AWS Lambda, as its bootstrap.\n"
        )
    }

    @Test func itUpdatesTheDatabaseOfAContainer() async throws {
        try await withCloudKitEmulator(over: .socket) { emulator in
            try emulator.rules.importSchema(CelestraSchema.container(), into: emulator.containerIdentifier)
            let database = emulator.service(as: .serverKey).publicDatabase
            let feed = FeedRecord(feedURL: "not an address", title: "A", addedAt: Date(timeIntervalSince1970: 0))
            let interface = FakeRuntimeInterface(next: [.event("{}", id: "1"), .event("{\"maxFailures\": 0}", id: "2")])
            try await database.save(feed, named: "a")
            try await interface.serve { address in
                let program = try await run([
                    "AWS_LAMBDA_RUNTIME_API": address, "MISTKIT_CONTAINER": emulator.containerIdentifier,
                    "MISTKIT_KEY_ID": emulator.serverKeyID, "MISTKIT_PRIVATE_KEY": emulator.serverKeyPEM,
                    "MISTKIT_SERVER_URL": emulator.serverURL.absoluteString,
                ])
                #expect(program.status == 1)
            }
            #expect(interface.reports.map(\.path) == ["/invocation/1/error", "/invocation/2/response"])
            #expect(interface.reports.first?.errorType == "Celestra.Unavailable")
            #expect(try await database.fetch(FeedRecord.self, named: "a").failureCount == 1)
        }
    }
}
