import MistModels
import MistTesting
import Testing

/// The Swift of "Errors".
@Suite(.serialized)
struct ErrorTests {
    /// What a program does about a feed that it wants to save.
    private func save(_ feed: StoredRecord<Feed>, in database: CloudKitDatabase) async throws -> String {
        do {
            try await database.update(feed)
            return "saved"
        } catch let error as CloudKitError {
            switch error.code {
            case .conflict: return "merge with \(error.serverRecord(as: Feed.self)?.title ?? "what is there")"
            case .notFound: return "another client deleted it"
            case .authenticationRequired: return "sign in at \(error.redirectURL ?? "")"
            case .quotaExceeded: return "the person's iCloud is full"
            default:
                guard error.isTransient else { throw error }
                return "try again in \(error.retryAfter ?? .seconds(60))"
            }
        }
    }

    @Test func whatAProgramDoesAboutAnError() async throws {
        try await withCloudKitEmulator { emulator in
            let database = emulator.service(as: .user).privateDatabase
            var feed = try await database.save(Feed.swift)
            let old = feed
            feed.title = "Swift"
            feed = try await database.update(feed)
            #expect(try await save(feed, in: database) == "saved")
            var mine = old
            mine.title = "Mine"
            #expect(try await save(mine, in: database) == "merge with Swift")
            try await database.delete(feed)
            feed.title = "Gone"
            #expect(try await save(feed, in: database) == "another client deleted it")
        }
    }

    @Test func anErrorPrintsOnOneLine() async throws {
        func fetch(from database: CloudKitDatabase) async throws {
            do {
                let feed = try await database.fetch(Feed.self, named: "feed-1")
                Issue.record("There is no such feed as \(feed.title).")
            } catch let error as CloudKitError {
                print(error)
                // NOT_FOUND in lookupRecords for record feed-1: There is no such record. It may have been deleted, or be in
                // another zone, database or environment. The service said: Record not found. [request 5b1f…]
                #expect(
                    error.description.hasPrefix(
                        "NOT_FOUND in lookupRecords for record feed-1: There is no such record."
                    )
                )
                #expect(error.requestUUID != nil)
            }
        }
        try await withCloudKitEmulator { emulator in
            try await fetch(from: emulator.service(as: .user).privateDatabase)
        }
    }

    @Test func aCodeOfALaterServiceIsKept() {
        let code = CloudKitError.Code(serverErrorCode: "BRAND_NEW")
        #expect(code.serverErrorCode == "BRAND_NEW")
        #expect(CloudKitError.Code.conflict.serverErrorCode == "CONFLICT")
        #expect(CloudKitError.Code.network.serverErrorCode == nil)
    }
}
