import Foundation
import MistMutationQueue
import OpenAPISwiftRuntime
import Peated
import PeatedOffline
import PeatedStub
import Synchronization
import Testing

/// What a user writes without a connection, and what becomes of it, over HTTP.
@Suite(.timeLimit(.minutes(2)))
struct OfflineStoryTests {
    private static let noConnection = "There is no connection to the service."
    private static let refusal = "The tasting is not valid. bottleId is not a bottle of the service."

    @Test func anOfflineTastingWithAPictureIsSentAfterTwoRestarts() async throws {
        try await Machine.run { machine in
            try await machine.signIn().refresh(.own, pageSize: 2)
            machine.network.setOffline(true)
            let picture = try machine.picture(1)
            var notebook = try machine.restart()
            try await notebook.taste("b3", rating: 4.5, notes: "Smoke", picture: picture.file)
            try await notebook.send()
            // The picture is a copy.
            try FileManager.default.removeItem(at: picture.file)

            notebook = try machine.restart()
            let own = try await notebook.lines(.own)
            #expect(
                own == [
                    "local-1  4.5  Johnnie Walker Black Label, ada: Smoke  [picture]  [waits]",
                    "t44  0.0  Pikesville Straight Rye, ada: Dram no. 44",
                    "t42  4.5  Johnnie Walker Black Label, ada: Dram no. 42", "…  older ones: `peated feed --more`",
                ]
            )
            let pause = try #require(try await notebook.status().pause)
            #expect(pause.reason == .offline && pause.message == Self.noConnection)
            #expect(try await notebook.send().sent == 0)

            // The second restart. The response to the first piece of the picture is lost.
            machine.network.setOffline(false)
            await machine.stub.setFaults { $0.lostReplies = 1 }
            notebook = try machine.restart()
            let drain = try await notebook.send()
            #expect(drain.sent == 2 && drain.status.isEmpty)
            // The upload goes on after the first piece, and the tasting comes after it.
            #expect(
                await machine.changes() == [
                    "getUpload 200", "continueUpload lost", "getUpload 200", "continueUpload 200", "continueUpload 200",
                    "addTasting 201",
                ]
            )
            let added = try #require(await machine.stub.tastings.last)
            #expect(added.notes == "Smoke" && added.rating == 4.5 && added.author.id == "ada")
            #expect(await machine.stub.images == [try #require(added.imageId): picture.bytes])
            let shown = try #require(try await notebook.tasting("local-1"))
            #expect(shown.tasting == added && shown.sending == .done)
            #expect(try Data(contentsOf: #require(shown.picture)) == picture.bytes)

            // The feed has it once, also after it has come from the service.
            let sent = "\(added.id)  4.5  Johnnie Walker Black Label, ada: Smoke  [picture]"
            #expect(try await notebook.lines(.own, 1) == [sent])
            #expect(try await notebook.refresh(.own) == 18)
            #expect(try await notebook.lines(.own).filter { $0.contains("Smoke") } == [sent])
        }
    }

    @Test func aRefusedTastingHoldsNothingElseUpAndIsDiscardedWithItsToast() async throws {
        try await Machine.run { machine in
            let notebook = try await machine.signIn()
            machine.network.setOffline(true)
            let picture = try machine.picture(1, size: 1000)
            try await notebook.taste("b99", rating: 1, notes: "No such bottle", picture: picture.file)
            try await notebook.toast("local-1")
            try await notebook.taste("b1", rating: 2, notes: "Tar")
            machine.network.setOffline(false)
            let drain = try await notebook.send()
            #expect(drain.sent == 2 && drain.failed == 1 && drain.status.blocked == 1)
            #expect(await machine.added() == ["ada: Tar"])

            // The reason is shown, also after a restart, and reported once.
            let restarted = try machine.restart()
            #expect(
                try await restarted.lines(.own).contains(
                    "local-1  1.0  bottle b99, ada: No such bottle  (toasts: 1, yours too)  [picture]"
                        + "  [failed: \(Self.refusal)]"
                )
            )
            #expect(
                try await restarted.queueLines() == [
                    "tasting local-1 of b99  failed: \(Self.refusal)", "toast to local-1  waits for an earlier change",
                    "queue: 1 waiting, 1 failed",
                ]
            )
            var failures = restarted.queue.failures().makeAsyncIterator()
            let failure = try #require(try await failures.next())
            #expect(failure.message == Self.refusal && failure.entity == "local-1")

            // A retry is refused as well. It has the same key, and the service has nothing twice.
            try await restarted.retry(String(failure.id.rawValue.prefix(6)))
            #expect(try await restarted.send().failed == 1)
            let discarded = try await restarted.discard(failure.id.rawValue)
            let names = discarded.map { NotebookLines.name($0.mutation) }
            #expect(names == ["toast to local-1", "tasting local-1 of b99"])
            #expect(try await restarted.lines(.own).map { $0.contains("Tar") } == [true])
            #expect(try await restarted.queueLines() == ["queue: everything is sent"])
            #expect(await machine.added() == ["ada: Tar"])
            await #expect(throws: NotebookError.noMutation("0d0a")) { try await restarted.retry("0d0a") }
        }
    }

    @Test func aDiscardedTastingTakesAnUploadAlongThatWasNotSent() async throws {
        try await Machine.run { machine in
            let notebook = try await machine.signIn()
            let picture = try machine.picture(1, size: 1000)
            try await notebook.taste("b1", notes: "One", picture: picture.file)
            try await notebook.taste("b1", notes: "Two", picture: picture.file)
            let tastings = try await notebook.mutations().filter { $0.entity.hasPrefix("local") }
            #expect(try await notebook.discard(tastings[0].id.rawValue).count == 1)
            // The picture is needed by the other one.
            #expect(try await notebook.mutations().count == 3)
            #expect(try await notebook.discard(tastings[1].id.rawValue).count == 3)
            #expect(try await notebook.send().sent == 0)
            #expect(await machine.stub.log == ["login 200"])
        }
    }

    @Test func aLostReplyAndARepeatedRequestApplyAChangeOnce() async throws {
        try await Machine.run { machine in
            let notebook = try await machine.signIn()
            try await notebook.refresh(.global, pageSize: 1)
            await machine.stub.setFaults { ($0.lostReplies, $0.repeatsChanges) = (2, true) }
            try await notebook.taste("b1", rating: 3, notes: "Once")
            try await notebook.send()
            await machine.stub.setFaults { $0.lostReplies = 1 }
            try await notebook.toast("t45")
            try await notebook.send()
            #expect(
                await machine.changes() == [
                    "addTasting lost", "addTasting lost", "addTasting 201", "addToast lost", "addToast 200",
                ]
            )
            #expect(await machine.added() == ["ada: Once"])
            #expect(await machine.stub.tastings.last(where: { $0.id == "t45" })?.toasts == 1)
            #expect(try await notebook.queueLines() == ["queue: everything is sent"])
            #expect(try await notebook.refresh(.global, pageSize: 2) == 1)
            #expect(try await notebook.lines(.global, 2).map { $0.contains("Once") } == [true, false])
        }
    }

    @Test func aToastThatIsTakenBackIsNeverSent() async throws {
        try await Machine.run { machine in
            let notebook = try await machine.signIn()
            try await notebook.refresh(.friends, pageSize: 1)
            machine.network.setOffline(true)
            #expect(try await notebook.toast("t45").tasting.toasts == 1)
            // A page from the service does not undo what waits.
            machine.network.setOffline(false)
            try await notebook.refresh(.friends, pageSize: 1)
            let waiting = "t45  0.5  Ardbeg 10, bob: Dram no. 45  (toasts: 1, yours too)  [waits]"
            #expect(try await notebook.lines(.friends, 1) == [waiting])
            await #expect(throws: NotebookError.alreadyToasted("t45")) { try await notebook.toast("t45") }
            #expect(try await notebook.toast("t45", isOn: false).tasting.toasts == 0)
            await #expect(throws: NotebookError.notToasted("t45")) { try await notebook.toast("t45", isOn: false) }
            #expect(try await notebook.send().sent == 0)
            #expect(await machine.changes() == [])

            // One that may have reached the service is taken back there, after it.
            await machine.stub.setFaults { $0.lostReplies = 1 }
            machine.network.before { operation in
                // The connection ends with the response to the toast.
                let isLost = await machine.stub.log.contains("addToast lost")
                machine.network.setOffline(isLost && operation == Operations.AddToast.id)
            }
            try await notebook.toast("t45")
            try await notebook.send()
            try await notebook.toast("t45", isOn: false)
            #expect(try await notebook.queueLines().count == 3)
            machine.network.before { _ in machine.network.setOffline(false) }
            #expect(try await notebook.send().sent == 2)
            #expect(await machine.changes() == ["addToast lost", "addToast 200", "removeToast 200"])
            #expect(try await notebook.lines(.friends, 1) == ["t45  0.5  Ardbeg 10, bob: Dram no. 45"])
        }
    }

    @Test func theOrderOfATastingIsKeptUnderBothIdentifiers() async throws {
        try await Machine.run { machine in
            let notebook = try await machine.signIn()
            machine.network.setOffline(true)
            try await notebook.taste("b1", notes: "Mine")
            try await notebook.toast("local-1")
            // A 503 at first: the toast still waits for its tasting. The connection ends between the two.
            await machine.stub.setFaults { $0.failures = 2 }
            machine.network.before { machine.network.setOffline($0 == Operations.AddToast.id) }
            #expect(try await notebook.send().sent == 1)
            let line = try await notebook.lines(.own, 1)[0]
            #expect(line.hasPrefix("n3  -  Ardbeg 10, "), "\(line)")
            #expect(line.hasSuffix("ada: Mine  (toasts: 1, yours too)  [waits]"), "\(line)")
            machine.network.before { _ in machine.network.setOffline(false) }
            #expect(try await notebook.send().sent == 1)
            #expect(
                await machine.changes() == ["addTasting 503", "addTasting 503", "addTasting 201", "addToast 200"]
            )
            let added = try #require(await machine.stub.tastings.last)
            #expect(added.toasts == 1)
            // Its former identifier still names it.
            #expect(try await notebook.toast("local-1", isOn: false).tasting.id == added.id)
            try await notebook.send()
            #expect(await machine.stub.tastings.last?.toasts == 0)
        }
    }

    @Test func aSentTastingIsOnTopUntilTheFeedSaysWhereItIs() async throws {
        try await Machine.run { machine in
            let notebook = try await machine.signIn()
            for feed in [FeedFilter.own, .global] { try await notebook.refresh(feed, pageSize: 2) }
            try await notebook.taste("b1", notes: "Mine")
            try await notebook.send()
            let sent = try #require(await machine.stub.tastings.last?.id)
            try await notebook.refresh(.own, pageSize: 2)
            for feed in [FeedFilter.own, .global] {
                #expect(try await notebook.lines(feed).filter { $0.hasPrefix("\(sent) ") }.count == 1)
            }
            // It is removed on another machine before the other feed is fetched.
            await machine.stub.removeTasting(sent)
            for feed in [FeedFilter.global, .own] {
                try await notebook.refresh(feed, pageSize: 2)
                #expect(try await notebook.lines(feed).filter { $0.contains("Mine") } == [])
            }
            #expect(try await notebook.tasting("local-1") == nil)
        }
    }

    @Test func mistakesChangeNothing() async throws {
        try await Machine.run { machine in
            let notebook = try await machine.signIn()
            await #expect(throws: NotebookError.rating(5.5)) { try await notebook.taste("b1", rating: 5.5) }
            await #expect(throws: NotebookError.rating(.infinity)) { try await notebook.taste("b1", rating: .infinity) }
            await #expect(throws: NotebookError.noTasting("t1000")) { try await notebook.toast("t1000") }
            let (empty, _) = try machine.picture(1, size: 0)
            await #expect(throws: NotebookError.picture("The file is empty.")) {
                try await notebook.taste("b1", picture: empty)
            }
            await #expect(throws: NotebookError.self) {
                try await notebook.taste("b1", picture: URL(filePath: "/nowhere.jpg"))
            }
            #expect(try await notebook.lines(.own) == [])
            #expect(try await notebook.queueLines() == ["queue: everything is sent"])
        }
    }
}
