import CloudKitEmulator
import Foundation
import MistKit
import MistTesting
import TestSupport
import Testing

@testable import MistStore

/// A store belongs to one service.
struct OtherServicePromiseTests {
    /// The services of an emulator, and a folder.
    private struct Place {
        let emulator: RunningEmulator
        let folder: URL

        /// The service of the same user, in other words for it where they are given.
        func service(
            container: String? = nil,
            _ environment: ContainerEnvironment? = nil,
            at serverURL: URL? = nil
        ) throws -> CloudKitService {
            var configuration = CloudKitService.Configuration(
                serverURL: serverURL ?? emulator.serverURL,
                transport: emulator.transport
            )
            configuration.retryPolicy = .never
            return CloudKitService(
                containerIdentifier: container ?? emulator.containerIdentifier,
                environment: environment ?? emulator.environment,
                tokenManager: AdaptiveTokenManager(
                    apiToken: emulator.apiToken,
                    webAuthToken: try emulator.rules.issueWebAuthToken(for: emulator.userRecordName)
                ),
                configuration: configuration
            )
        }

        func open(_ service: CloudKitService?) throws -> MistStore {
            try MistStore(at: folder, records: [Book.self], service: service)
        }
    }

    private func withPlace(_ body: (Place) async throws -> Void) async throws {
        try await withCloudKitEmulator { emulator in
            try await inTemporaryFolder { folder in try await body(Place(emulator: emulator, folder: folder)) }
        }
    }

    private func books(_ database: LocalDatabase) async throws -> [String] {
        try await database.find(Query<Book>()).map(\.recordName).sorted()
    }

    @Test("P14. A store that was synchronised is not opened with another container, environment or kind of service")
    func anotherServiceIsRefused() async throws {
        try await withPlace { place in
            let store = try place.open(try place.service())
            try await store.publicDatabase.follow(Query<Book>())
            try await store.publicDatabase.add(Book(title: "public"), named: "a")
            try await store.privateDatabase.add(Book(title: "private"), named: "b")
            try await store.sync()
            try await store.privateDatabase.add(Book(title: "waits"), named: "c")
            try store.close()
            for (other, name) in [
                (try place.service(container: "iCloud.other"), "the container iCloud.other (development)"),
                (try place.service(.production), "(production)"),
                (try place.service(at: CloudKitService.appleServerURL), "Apple's service. Nothing"),
            ] {
                let refusal = #expect(throws: StoreError.self) { try place.open(other) }
                #expect(refusal?.code == .otherService)
                #expect(refusal?.message.contains(name) == true, "\(refusal?.message ?? "")")
            }
            // An emulator has another port each time.
            let again = try place.open(try place.service(at: URL(string: "http://127.0.0.1:1")!))
            #expect(try await books(again.publicDatabase) == ["a"])
            #expect(try await books(again.privateDatabase) == ["b", "c"])
            try again.close()
            // Without a service nothing is sent.
            try place.open(nil).close()
            let last = try place.open(try place.service())
            #expect(try await last.sync().scopes[.private]?.condition == nil)
            #expect(try await last.privateDatabase.status().pending == 0)
            try last.close()
        }
    }

    @Test("P14. Before the first synchronisation, the program that opened the store last names the service")
    func theServiceIsOpenBeforeTheFirstRequest() async throws {
        try await withPlace { place in
            try place.open(try place.service(container: "iCloud.mistaken")).close()
            let store = try place.open(try place.service())
            try await store.privateDatabase.add(Book(title: "B"), named: "b")
            try await store.sync()
            #expect(try MistStore.service(ofStoreAt: place.folder)?.container == place.emulator.containerIdentifier)
            try store.close()
        }
    }

    @Test("P14, 33. Of two processes with different services, the one that synchronises first decides")
    func aSecondProcessIsRefused() async throws {
        try await withPlace { place in
            let first = try place.open(try place.service())
            let second = try place.open(try place.service(.production))
            try await first.publicDatabase.follow(Query<Book>())
            try await first.publicDatabase.add(Book(title: "A"), named: "a")
            try await first.sync()
            let refusal = await #expect(throws: StoreError.self) { try await second.sync() }
            #expect(refusal?.code == .otherService)
            #expect(try await books(second.publicDatabase) == ["a"])
            try await first.sync()
            for store in [first, second] { try store.close() }
        }
    }
}
