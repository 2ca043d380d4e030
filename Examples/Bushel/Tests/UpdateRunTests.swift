import BushelHistory
import BushelSources
import CloudKitEmulator
import CloudKitEmulatorServer
import ExampleTesting
import Foundation
import MistModels
import MistTesting
import Synchronization
import Testing
import WebFetching

/// The public database of an emulator with the schema of Bushel, so that a query without its index fails as it does on
/// the service.
func bushelDatabase(of emulator: RunningEmulator) throws -> CloudKitDatabase {
    try emulator.rules.importSchema(BushelSchema.container(), into: emulator.containerIdentifier)
    return emulator.service(as: .serverKey).publicDatabase
}

/// Runs over all sources of a local server into the emulator.
struct UpdateRunTests {
    private let clock = TestClock()

    /// Runs a test with a server of all sources and an empty database.
    private func withDatabase(
        _ body: @Sendable (WebServer, CloudKitDatabase, RunningEmulator) async throws -> Void
    ) async throws {
        try await withWebServer(hosts: Source.all.count) { server in
            try await withCloudKitEmulator(clock: clock) { emulator in
                try await body(server, try bushelDatabase(of: emulator), emulator)
            }
        }
    }

    /// One run over a site.
    @discardableResult
    private func update(
        _ database: CloudKitDatabase,
        _ site: SampleSite,
        of server: WebServer,
        change: (inout UpdateRun) -> Void = { _ in }
    ) async throws -> UpdateReport {
        server.respond { site.reply(to: $0) }
        let silent = site.damages.filter { $0.value == .silence }.count
        let timer = TestClock()
        return try await withWebFetcher(.bushel, clock: TestClock(skippingWaits: true).timer, timer: timer.timer) {
            fetcher in
            var run = UpdateRun(database: database, fetcher: fetcher)
            run.now = { [clock] in clock.now }
            run.sources = SampleSite.sources(of: server)
            change(&run)
            // After all other sources, the time limit of the silent ones ends.
            let rest = Mutex(run.sources.count - silent)
            return try await run.update { _ in
                let isLast = rest.withLock { count in
                    count -= 1
                    return count == 0
                }
                guard isLast, silent > 0 else { return }
                Task {
                    await timer.waitForSleepers(silent)
                    timer.advance(by: 121)
                }
            }
        }
    }

    /// The change tags of all releases by record name.
    private func tags(_ database: CloudKitDatabase) async throws -> [String: String] {
        let history = try await History(database)
        var tags: [String: String] = [:]
        for record in history.images.values { tags[record.recordName] = record.recordChangeTag }
        for record in history.xcode.values { tags[record.recordName] = record.recordChangeTag }
        for record in history.swift.values { tags[record.recordName] = record.recordChangeTag }
        return tags
    }

    /// The whole content of the history, without change tags.
    private struct Contents: Equatable {
        var images: [String: RestoreImage]
        var xcode: [String: XcodeVersion]
        var swift: [String: SwiftVersion]

        init(_ database: CloudKitDatabase) async throws {
            let history = try await History(database)
            images = history.images.mapValues(\.model)
            xcode = history.xcode.mapValues(\.model)
            swift = history.swift.mapValues(\.model)
        }
    }

    private func written(_ before: [String: String], _ after: [String: String]) -> [String] {
        after.keys.filter { before[$0] != after[$0] }.sorted()
    }

    private func outcomes(_ report: UpdateReport) -> Set<SourceReport.Outcome> { Set(report.sources.map(\.outcome)) }

    // MARK: - The history

    @Test func pagesForPeopleAreFetchedAsTheirRulesSay() async throws {
        try await withDatabase { server, database, _ in
            let site = SampleSite()
            server.respond { request in
                guard request.path == "/robots.txt" else { return site.reply(to: request) }
                return .response(200, body: Array("User-agent: *\nDisallow: /".utf8))
            }
            let report = try await withWebFetcher(
                .bushel,
                clock: TestClock(skippingWaits: true).timer,
                timer: TestClock().timer
            ) { fetcher in
                var run = UpdateRun(database: database, fetcher: fetcher)
                run.now = { [clock] in clock.now }
                run.sources = SampleSite.sources(of: server)
                return try await run.update { _ in }
            }
            let refused = report.sources.filter { $0.failure == "refusedByRobots" }.map(\.source)
            #expect(refused == [.mrMacintosh, .swiftVersionNet])
            // For the APIs, no `robots.txt` is requested.
            let asked = server.requests.filter { $0.path == "/robots.txt" }.map { Source.all[$0.host].id }
            #expect(Set(asked) == [.mrMacintosh, .swiftVersionNet])
        }
    }

    @Test func theFirstRunMakesOneHistoryOfAllSources() async throws {
        try await withDatabase { server, database, _ in
            let report = try await update(database, SampleSite(), of: server)
            #expect(outcomes(report) == [.fetched], "\(report.failures)")
            #expect(report.isSaved)
            #expect(report.kinds.map(\.created) == [7, 4, 2])
            #expect(report.kinds.map(\.kind) == [.images, .swift, .xcode])
            #expect(report.missing.map(\.target) == ["Swift 6.1", "macOS 99.0"])
            let left = report.sources.filter { !$0.problems.isEmpty }
            #expect(left.map(\.source) == [.xcodeReleases])
            #expect(left.flatMap(\.problems).map(\.description) == ["[2].version.build is missing"])

            let history = try await History(database)
            let image = try #require(history.images["24B83"]?.model)
            #expect(image.sources == [.appleCatalog, .appleDB, .ipswMe])
            #expect(image.sha1 == SampleDocuments.sha1)
            #expect(image.isSigned == true)
            #expect(image.provenance["sha1"] == .appleCatalog)
            #expect(image.provenance["sha256"] == .ipswMe)
            #expect(image.provenance["isSigned"] == .appleCatalog)
            #expect(history.images["24C5057p"]?.stage == "beta")
            let xcode = try #require(history.xcode["16B40"]?.model)
            #expect(xcode.swiftVersion?.recordName == "SwiftVersion-6.0.2")
            #expect(xcode.minimumMacOS?.recordName == "RestoreImage-23F79")
            let target = try #require(xcode.swiftVersion)
            #expect(try await database.fetch(target).version == "6.0.2")
        }
    }

    @Test(arguments: [true, false])
    func theSecondRunWritesNothing(hasValidators: Bool) async throws {
        try await withDatabase { server, database, emulator in
            var site = SampleSite()
            site.hasValidators = hasValidators
            try await update(database, site, of: server)
            let before = try await tags(database)
            clock.advance(by: 3600)
            emulator.faults.forgetRequests()
            let report = try await update(database, site, of: server)
            #expect(outcomes(report) == [hasValidators ? .notModified : .fetched])
            #expect(report.kinds.map(\.unchanged) == [7, 4, 2])
            #expect(report.kinds.map { $0.created + $0.updated } == [0, 0, 0])
            #expect(try await tags(database) == before)
            // The only request that writes is the one for the states of the sources.
            #expect(emulator.faults.requests.count { $0.contains("records/modify") } == 1)
            let states = try await History.states(in: database)
            #expect(states.values.allSatisfy { $0.lastSuccess == clock.now && $0.lastError == nil })
        }
    }

    @Test func oneChangedEntryWritesOneRecord() async throws {
        try await withDatabase { server, database, _ in
            var site = SampleSite()
            try await update(database, site, of: server)
            let before = try await tags(database)
            clock.advance(by: 3600)
            site.documents[.ipswMe] = site.documents[.ipswMe]?.replacing(
                "\"filesize\": 15772829127",
                with: "\"filesize\": 15",
                maxReplacements: 1
            )
            let report = try await update(database, site, of: server)
            #expect(report.sources.filter { $0.outcome == .fetched }.map(\.source) == [.ipswMe])
            #expect(report.kinds.map(\.updated) == [1, 0, 0])
            #expect(written(before, try await tags(database)) == ["RestoreImage-24B83"])
            #expect(try await database.fetch(RestoreImage.self, named: "RestoreImage-24B83").fileSize == 15)
        }
    }

    @Test func aNewReleaseResolvesTheReferencesToIt() async throws {
        try await withDatabase { server, database, _ in
            var site = SampleSite()
            try await update(database, site, of: server)
            let before = try await tags(database)
            site.documents[.swiftOrg]?.removeLast()
            site.documents[.swiftOrg]? += ",\(SampleDocuments.toolchain("6.1"))]"
            clock.advance(by: 3600)
            let report = try await update(database, site, of: server)
            #expect(report.missing.map(\.target) == ["macOS 99.0"])
            #expect(written(before, try await tags(database)) == ["SwiftVersion-6.1", "XcodeVersion-16C5023f"])
        }
    }

    @Test func aReleaseThatNoSourceListsStays() async throws {
        try await withDatabase { server, database, _ in
            var site = SampleSite()
            try await update(database, site, of: server)
            let before = try await tags(database)
            clock.advance(by: 3600)
            site.documents[.mrMacintosh] = SampleDocuments.images(SampleDocuments.imageRow())
            let report = try await update(database, site, of: server)
            #expect(report.kinds.map(\.updated) == [2, 0, 0])
            let history = try await History(database)
            #expect(history.counts(of: .images).unlisted == 2)
            #expect(history.images["21A559"]?.version == "12.0.1")
            #expect(written(before, try await tags(database)) == ["RestoreImage-21A559", "RestoreImage-24C5057p"])
            // The next run writes nothing more for them.
            clock.advance(by: 3600)
            #expect(try await update(database, site, of: server).kinds.map(\.updated) == [0, 0, 0])
        }
    }

    @Test func whatOneSourceTakesBackIsHeardFromTheOthers() async throws {
        try await withDatabase { server, database, _ in
            var site = SampleSite()
            try await update(database, site, of: server)
            let before = try await tags(database)
            clock.advance(by: 3600)
            // The catalog has a newer image. The sources that list the old one have not changed.
            site.documents[.appleCatalog] = SampleDocuments.catalog(build: "24C101", version: "15.2")
            let report = try await update(database, site, of: server)
            #expect(
                report.sources.filter { $0.outcome == .fetched }.map(\.source) == [.appleCatalog, .ipswMe, .appleDB]
            )
            #expect(written(before, try await tags(database)) == ["RestoreImage-24B83", "RestoreImage-24C101"])
            let image = try await database.fetch(RestoreImage.self, named: "RestoreImage-24B83")
            #expect(image.isSigned == true)
            #expect(image.provenance["isSigned"] == .ipswMe)
            #expect(image.provenance["version"] == .appleDB)
            #expect(image.sources == [.appleDB, .ipswMe])
            clock.advance(by: 3600)
            #expect(outcomes(try await update(database, site, of: server)) == [.notModified])
        }
    }

    @Test func aCompleteRunFetchesWhatHasNotChanged() async throws {
        try await withDatabase { server, database, _ in
            try await update(database, SampleSite(), of: server)
            try await database.forceDelete("RestoreImage-24B83")
            #expect(try await update(database, SampleSite(), of: server).kinds.map(\.created) == [0, 0, 0])
            let report = try await update(database, SampleSite(), of: server) { $0.isComplete = true }
            #expect(outcomes(report) == [.fetched])
            #expect(report.kinds.map(\.created) == [1, 0, 0])
        }
    }

    @Test func aSourceWithAnotherAddressIsFetchedAsAWhole() async throws {
        try await withDatabase { server, database, _ in
            try await update(database, SampleSite(), of: server)
            let report = try await update(database, SampleSite(), of: server) {
                $0.sources[1].address = server.addresses[1] + "/mirror"
            }
            #expect(report.sources.filter { $0.outcome == .fetched }.map(\.source) == [.ipswMe])
        }
    }

    /// The clock of a host may be wrong: a Last-Modified after the run counts as the time of the run.
    @Test func aDocumentIsFromTheTimeOfItsLastModifiedAtTheLatestFromNow() async throws {
        try await withDatabase { server, database, _ in
            for (field, date) in [
                ("Mon, 01 Dec 2025 00:00:00 GMT", Date(timeIntervalSince1970: 1_764_547_200)),
                ("Fri, 01 Jan 2100 00:00:00 GMT", clock.now),
            ] {
                try await update(database, SampleSite(), of: server) { run in
                    run.sources = run.sources.filter { $0.id == .mrMacintosh }
                    let page = Array((SampleSite().documents[.mrMacintosh] ?? "").utf8)
                    server.respond { request in
                        guard request.path == "/data" else { return .response(404) }
                        return .response(200, headers: [("Last-Modified", field)], body: page)
                    }
                }
                #expect(try await History.states(in: database)[.mrMacintosh]?.statedAt == date)
            }
        }
    }

    // MARK: - Broken sources

    @Test(arguments: SampleSite.Damage.allCases)
    func oneBrokenSourceLeavesTheOthersAlone(damage: SampleSite.Damage) async throws {
        try await withDatabase { server, database, _ in
            // First in an empty database: the history has the releases of the other sources.
            for source in Source.all {
                try await withCloudKitEmulator(clock: clock) { emulator in
                    var site = SampleSite()
                    site.damages = [source.id: damage]
                    let database = try bushelDatabase(of: emulator)
                    let report = try await update(database, site, of: server)
                    #expect(report.failures.map(\.source) == [source.id])
                    #expect(report.failures.map(\.failure) == [damage.failure])
                    #expect(report.isSaved)
                    #expect(report.sources.filter { $0.outcome == .fetched }.count == Source.all.count - 1)
                }
            }
            // Then in a filled one: the source's values stay, and the other sources are updated.
            try await update(database, SampleSite(), of: server)
            let contents = try await Contents(database)
            let before = try await tags(database)
            clock.advance(by: 3600)
            for source in Source.all where source.id != .swiftOrg {
                var site = SampleSite()
                site.damages = [source.id: damage]
                let report = try await update(database, site, of: server)
                #expect(report.failures.map(\.source) == [source.id])
                let states = try await History.states(in: database)
                let state = try #require(states[source.id])
                #expect(state.lastError == report.failures.first?.reason)
                #expect(state.lastAttempt == clock.now)
                #expect(state.failureCount == 1)
                #expect(states.values.count { $0.lastError != nil } == 1)
                #expect(written(before, try await tags(database)) == [])
                try await update(database, SampleSite(), of: server)
            }
            #expect(try await Contents(database) == contents)
            var site = SampleSite()
            site.damages = [.ipswMe: damage]
            site.documents[.swiftOrg]?.removeLast()
            site.documents[.swiftOrg]? += ",\(SampleDocuments.toolchain("6.1"))]"
            #expect(try await update(database, site, of: server).kinds.map(\.created) == [0, 1, 0])
        }
    }

    @Test func aSourceThatComesBackIsFetchedAsAWhole() async throws {
        try await withDatabase { server, database, _ in
            let site = SampleSite()
            try await update(database, site, of: server)
            var broken = site
            broken.damages = [.appleDB: .wrongShape]
            clock.advance(by: 3600)
            try await update(database, broken, of: server)
            clock.advance(by: 3600)
            let report = try await update(database, site, of: server)
            #expect(report.sources.filter { $0.outcome == .fetched }.map(\.source) == [.appleDB])
            #expect(report.kinds.map(\.updated) == [0, 0, 0])
            let state = try #require(try await History.states(in: database)[.appleDB])
            #expect(state.lastError == nil && state.failureCount == 0)
            #expect(state.lastSuccess == clock.now)
        }
    }

    // MARK: - Several runs and a service that refuses

    @Test func twoRunsAtOnceMakeOneHistory() async throws {
        try await withDatabase { server, database, _ in
            async let first = update(database, SampleSite(), of: server)
            async let second = update(database, SampleSite(), of: server)
            let reports = try await [first, second]
            #expect(
                reports.allSatisfy { $0.isSaved },
                "\(reports.compactMap(\.stateFailure)) \(reports.flatMap(\.kinds).compactMap(\.reason))"
            )
            let history = try await History(database)
            for kind in ReleaseKind.allCases {
                #expect(history.counts(of: kind).releases == SampleSite.counts[kind])
                #expect(
                    reports.flatMap(\.kinds).filter { $0.kind == kind }.reduce(0) { $0 + $1.created }
                        == SampleSite.counts[kind]
                )
            }
            let contents = try await Contents(database)
            try await withCloudKitEmulator(clock: clock) { emulator in
                let other = try bushelDatabase(of: emulator)
                try await update(other, SampleSite(), of: server)
                #expect(try await Contents(other) == contents)
            }
        }
    }

    @Test func runsOverHalfOfTheSourcesEachMakeTheSameHistory() async throws {
        try await withDatabase { server, database, _ in
            let chosen: [Set<SourceID>] = [
                [.ipswMe, .appleCatalog, .xcodeReleases, .swiftVersionNet],
                [.appleDB, .mrMacintosh, .appleReleases, .swiftOrg],
            ]
            async let first = update(database, SampleSite(), of: server) {
                $0.sources.removeAll { !chosen[0].contains($0.id) }
            }
            async let second = update(database, SampleSite(), of: server) {
                $0.sources.removeAll { !chosen[1].contains($0.id) }
            }
            let reports = try await [first, second]
            #expect(reports.allSatisfy { $0.isSaved })
            // A later run has the statements of both, and resolves the references.
            try await update(database, SampleSite(), of: server)
            let contents = try await Contents(database)
            try await withCloudKitEmulator(clock: clock) { emulator in
                let other = try bushelDatabase(of: emulator)
                try await update(other, SampleSite(), of: server)
                #expect(try await Contents(other) == contents)
            }
        }
    }

    @Test func whatIsNotSavedIsFetchedAgain() async throws {
        try await withDatabase { server, database, emulator in
            emulator.faults.add(FaultRule(.throttle(retryAfter: 60), on: "records/modify", calls: .only(1)))
            let first = try await update(database, SampleSite(), of: server)
            #expect(!first.isSaved)
            #expect(first.kinds.map(\.notSaved) == [7, 0, 0])
            clock.advance(by: 3600)
            let second = try await update(database, SampleSite(), of: server)
            #expect(
                second.sources.filter { $0.outcome == .fetched }.map(\.source) == [
                    .appleCatalog, .ipswMe, .appleDB, .mrMacintosh,
                ]
            )
            #expect(second.kinds.map(\.created) == [7, 0, 0])
            #expect(second.isSaved)
        }
    }
}
