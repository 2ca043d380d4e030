import Foundation
import GRDB
import MistMutationQueue
import Peated
import PeatedStub
import Testing

@testable import PeatedOffline

/// Feeds page by page, and pictures, over HTTP.
@Suite(.timeLimit(.minutes(2)))
struct OfflineFeedTests {
    private func ids(_ stub: PeatedStub) async -> [String] { await stub.tastings.map(\.id).reversed() }

    @Test func aGapBetweenPagesIsKnownAndFilled() async throws {
        try await Machine.run { machine in
            var notebook = try await machine.signIn("bob")
            #expect(try await notebook.refresh(.global, pageSize: 10) == 10)
            for number in 1...25 { try await machine.stub.addTasting(of: "ada", notes: "New \(number)") }

            // The first page does not meet what is known.
            #expect(try await notebook.refresh(.global, pageSize: 10) == 10)
            notebook = try machine.restart()
            let all = await ids(machine.stub)
            var list = try await notebook.list(.global)
            #expect(list.tastings == Array(all[..<10] + all[25..<35]))
            #expect(list.gaps == [all[9], all[34]])
            #expect(try await notebook.lines(.global)[10] == "…  some are missing here: `peated feed --fill`")
            #expect(try await notebook.lines(.global).last == "…  older ones: `peated feed --more`")

            // Pages fill it, and the last one meets what is below without a double.
            for expected in [10, 5] {
                let gap = try #require(list.firstInnerGap)
                #expect(try await notebook.fill(gap, of: .global, pageSize: 10) == expected)
                list = try await notebook.list(.global)
            }
            #expect(list.tastings == Array(all[..<35]) && list.gaps == [all[34]])
            #expect(try await notebook.refresh(.global, pageSize: 10) == 0)
            #expect(try await notebook.list(.global) == list)

            // To the oldest one, and nothing is missing or twice.
            while let gap = list.gaps.last {
                try await notebook.fill(gap, of: .global, pageSize: 20)
                list = try await notebook.list(.global)
            }
            #expect(list.tastings == all && list.gaps.isEmpty)
        }
    }

    @Test func aRefreshFetchesPagesUntilItMeetsWhatIsKnown() async throws {
        try await Machine.run { machine in
            let notebook = try await machine.signIn("bob")
            // Nothing is below the first page, so there is nothing to meet.
            #expect(try await notebook.refresh(.global, pageSize: 10, pageLimit: 5) == 10)
            for number in 1...25 { try await machine.stub.addTasting(of: "ada", notes: "New \(number)") }
            #expect(try await notebook.refresh(.global, pageSize: 10, pageLimit: 2) == 20)
            #expect(try await notebook.list(.global).gaps.count == 2)
            #expect(try await notebook.refresh(.global, pageSize: 10, pageLimit: 5) == 5)
            #expect(try await notebook.list(.global).tastings == Array(await ids(machine.stub)[..<35]))
        }
    }

    @Test func threeFeedsAreReadWithoutAConnection() async throws {
        try await Machine.run { machine in
            var notebook = try await machine.signIn()
            for feed in [FeedFilter.global, .friends, .own] { try await notebook.refresh(feed, pageSize: 2) }
            machine.network.setOffline(true)
            notebook = try machine.restart()
            await #expect(throws: PeatedError.self) { try await notebook.refresh(.global) }
            #expect(try await notebook.list(.global).tastings == ["t45", "t44"])
            #expect(try await notebook.list(.friends).tastings == ["t45", "t43"])
            #expect(try await notebook.list(.own).tastings == ["t44", "t42"])
            #expect(try await notebook.lines(.friends, 1) == ["t45  0.5  Ardbeg 10, bob: Dram no. 45"])
            // What is written is in the feeds that will have it.
            try await notebook.taste("b1", notes: "Mine")
            #expect(try await notebook.lines(.global, 1)[0].hasPrefix("local-1 "))
            #expect(try await notebook.lines(.own, 1)[0].hasPrefix("local-1 "))
            #expect(try await notebook.lines(.friends, 1)[0].hasPrefix("t45 "))
            // A page that arrives ends the pause of a queue that has found no connection.
            try await notebook.send()
            #expect(try await notebook.status().pause?.reason == .offline)
            machine.network.setOffline(false)
            try await notebook.refresh(.friends, pageSize: 2)
            #expect(try await notebook.status().pause == nil)
        }
    }

    @Test func aPageAndItsCursorAreStoredTogetherOrNotAtAll() async throws {
        try await Machine.run { machine in
            let notebook = try await machine.signIn()
            try await notebook.refresh(.global, pageSize: 5)
            let before = try await notebook.list(.global)
            // The file refuses a tasting in the middle of the page.
            try await notebook.database.write { db in
                try db.execute(
                    sql: """
                        CREATE TRIGGER refuse BEFORE INSERT ON feed_item WHEN NEW.tasting = 't38'
                        BEGIN SELECT RAISE(ABORT, 'refused'); END
                        """
                )
            }
            let gap = try #require(before.gaps.last)
            await #expect(throws: DatabaseError.self) { try await notebook.fill(gap, of: .global, pageSize: 5) }
            #expect(try await notebook.list(.global) == before)
            #expect(try await notebook.tasting("t40") == nil)
            try await notebook.database.write { db in try db.execute(sql: "DROP TRIGGER refuse") }
            #expect(try await notebook.fill(gap, of: .global, pageSize: 5) == 5)
            #expect(try await notebook.list(.global).tastings == (36...45).reversed().map { "t\($0)" })
        }
    }

    @Test func rowsGetNewNumbersWhereThereIsNoSpace() async throws {
        try await Machine.run { machine in
            let notebook = try await machine.signIn()
            try await notebook.refresh(.global, pageSize: 2)
            try await machine.stub.addTasting(of: "bob", notes: "A")
            try await machine.stub.addTasting(of: "bob", notes: "B")
            try await machine.stub.addTasting(of: "bob", notes: "C")
            try await notebook.refresh(.global, pageSize: 1)
            // The rows are side by side, as after many pages between them.
            try await notebook.database.write { db in
                let ranks = try Int64.fetchAll(db, sql: "SELECT rank FROM feed_item ORDER BY rank")
                for (number, rank) in ranks.enumerated() {
                    let values: StatementArguments = [number - 100_000_000, rank]
                    try db.execute(sql: "UPDATE feed_item SET rank = ? WHERE rank = ?", arguments: values)
                }
            }
            let list = try await notebook.list(.global)
            #expect(list.items.count == 5)
            #expect(try await notebook.fill(#require(list.gaps.first), of: .global, pageSize: 4) == 2)
            #expect(try await notebook.list(.global).tastings == Array(await ids(machine.stub)[..<5]))
        }
    }

    @Test func theOldestPicturesGoAboveTheLimit() async throws {
        try await Machine.run { machine in
            let ada = try await machine.signIn("ada")
            var pictures: [Data] = []
            for number in 1...3 {
                let picture = try machine.picture(number, size: 100_000)
                pictures.append(picture.bytes)
                try await ada.taste("b1", notes: "Picture \(number)", picture: picture.file)
                try await ada.send()
            }
            // The third picture once more: one content is one file.
            try await ada.taste("b1", notes: "Again", picture: machine.picture(3, size: 100_000).file)
            try await ada.send()

            try await machine.signIn("bob")
            let bob = try machine.restart { $0.pictureLimit = 250_000 }
            try await bob.refresh(.friends, pageSize: 4)
            func tastings() async throws -> [ShownTasting] {
                try await bob.feed(.friends).compactMap { entry in
                    if case .tasting(let shown) = entry { shown } else { nil }
                }
            }
            for shown in try await tastings().reversed() { _ = try await bob.picture(of: shown) }
            let shown = try await tastings()
            #expect(shown.map(\.tasting.notes) == ["Again", "Picture 3", "Picture 2", "Picture 1"])
            #expect(shown.map { $0.picture == nil } == [false, false, false, true])
            #expect(try shown[0].picture.map { try Data(contentsOf: $0) } == pictures[2])
            #expect(shown[0].picture == shown[1].picture)
            let files = try FileManager.default.contentsOfDirectory(atPath: bob.pictures.folder.path)
            #expect(files.count == 2)

            // One that had to go is fetched again; one that is here is not.
            let requests = await machine.stub.log.filter { $0 == "getImage 200" }.count
            let file = try #require(try await bob.picture(of: shown[3]))
            #expect(try Data(contentsOf: file) == pictures[0])
            _ = try await bob.picture(of: shown[0])
            #expect(await machine.stub.log.filter { $0 == "getImage 200" }.count == requests + 1)
        }
    }

    @Test func aPictureThatIsToBeSentStaysAboveTheLimit() async throws {
        try await Machine.run { machine in
            try await machine.signIn("ada")
            let notebook = try machine.restart { $0.pictureLimit = 0 }
            let picture = try machine.picture(1, size: 1000)
            try await notebook.taste("b1", picture: picture.file)
            try await notebook.send()
            #expect(await machine.stub.images.values.map { $0 } == [picture.bytes])
        }
    }
}
