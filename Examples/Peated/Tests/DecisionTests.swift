import Foundation
import MistMutationQueue
import OpenAPISwiftRuntime
import Peated
import Testing

@testable import PeatedOffline

struct DecisionTests {
    private static let offline = PeatedError.network(TransportError(code: .connectionFailed, message: "Refused."))
    private static let lost = PeatedError.network(TransportError(code: .connectionLost, message: "Cut."))

    private struct Answer: Error, LocalizedError {
        var errorDescription: String? { "The disk is full." }
    }

    /// What the queue does, without the sentence.
    enum Kind { case again, refused, signedOut, offline }

    /// Each error of the client, the sentence that is shown, and what the queue does.
    @Test(
        arguments: [
            (.unauthorized(message: "It has expired."), "You are signed out. It has expired.", .signedOut),
            (
                .validation(message: "It is not valid.", fields: ["rating": ["is not from 0 to 5"], "a": ["b", "c"]]),
                "It is not valid. a b, c. rating is not from 0 to 5.", .refused
            ),
            (.server(status: 404, message: "It is gone."), "The service refuses this (404). It is gone.", .refused),
            (.server(status: 503, message: "Later."), "The service has a problem (503). Later.", .again),
            (.server(status: 429, message: "Slow down."), "The service refuses this (429). Slow down.", .again),
            (.server(status: 408, message: "Slow."), "The service refuses this (408). Slow.", .again),
            (
                .decoding(Answer()),
                "The service's answer cannot be understood. A newer version of this program may understand it.", .again
            ),
            (offline, "There is no connection to the service.", .offline),
            (lost, "The connection broke before the service's answer arrived.", .again),
            (.local(Answer()), "This machine has a problem. The disk is full.", .again),
            (.cancelled, "Cancelled.", .again),
        ] as [(PeatedError, String, Kind)]
    )
    func anErrorHasASentenceAndADecision(error: PeatedError, sentence: String, kind: Kind) {
        #expect(error.sentence == sentence)
        let decision: MutationDecision =
            switch kind {
            case .again: .again(sentence)
            case .refused: .refused(sentence)
            case .signedOut: .wait(.signedOut, sentence)
            case .offline: .wait(.offline, for: .seconds(15), sentence)
            }
        #expect(MutationDecision.after(error) == decision)
    }

    @Test func theServiceNamesTheTimeOfTheNextAttempt() {
        let error = PeatedError.server(status: 503, message: "Later.", retryAfter: .seconds(40))
        #expect(MutationDecision.after(error) == .again(after: .seconds(40), error.sentence))
    }

    @Test func aPictureThatIsGoneIsNotTriedAgain() {
        #expect(MutationDecision.after(MissingPicture()) == .refused("The picture is not on this machine any more."))
    }

    @Test(
        arguments: [
            (.toast("t1", isOn: true), .toast("t1", isOn: false), "annihilated"),
            (.toast("t1", isOn: false), .toast("t1", isOn: true), "annihilated"),
            (.toast("t1", isOn: true), .toast("t1", isOn: true), "replaced"),
            (.toast("t1", isOn: true), .toast("t2", isOn: false), "separate"),
            (.upload(digest: "d"), .upload(digest: "d"), "separate"),
            (.taste("t1", .init(bottle: "b1", createdAt: Date())), .toast("t1", isOn: true), "separate"),
        ] as [(PeatedMutation, PeatedMutation, String)]
    )
    func onlyToastsToOneTastingAreJoined(earlier: PeatedMutation, later: PeatedMutation, outcome: String) {
        switch PeatedMutation.join(earlier, later) {
        case .annihilated: #expect(outcome == "annihilated")
        case .replaced(let mutation): #expect(outcome == "replaced" && mutation == later)
        case .separate: #expect(outcome == "separate")
        }
    }

    @Test(
        arguments: [
            ([4, 3, 2], 9, []), ([4, 3, 2], 8, [0]), ([4, 3, 2], 5, [0]), ([4, 3, 2], 4, [0, 1]),
            ([4, 3, 2], 0, [0, 1, 2]),
            ([], 0, []),
        ] as [([Int64], Int64, [Int])]
    )
    func theOldestPicturesGo(sizes: [Int64], limit: Int64, gone: [Int]) {
        let pictures = sizes.enumerated().map { KeptPicture(digest: "\($0)", size: $1) }
        #expect(KeptPicture.removed(pictures, limit: limit) == gone.map { "\($0)" })
    }

    @Test func aPictureThatIsToBeSentStaysAndDoesNotCount() {
        let pictures = [
            KeptPicture(digest: "a", size: 100, isNeeded: true), KeptPicture(digest: "b", size: 3),
            KeptPicture(digest: "c", size: 2),
        ]
        #expect(KeptPicture.removed(pictures, limit: 5) == [])
        #expect(KeptPicture.removed(pictures, limit: 4) == ["b"])
    }

    @Test func aToastOfThisMachineIsShownOnTopOfTheServices() {
        var tasting = Tasting(
            id: "t",
            bottle: Bottle(id: "b", name: "", brand: ""),
            author: User(id: "", username: ""),
            tags: [],
            toasts: 2,
            hasToasted: false,
            createdAt: Date(timeIntervalSince1970: 0)
        )
        #expect(tasting.withToast(nil) == tasting && tasting.withToast(false) == tasting)
        (tasting.toasts, tasting.hasToasted) = (3, true)
        var without = tasting
        (without.toasts, without.hasToasted) = (2, false)
        #expect(without.withToast(true) == tasting && tasting.withToast(false) == without)
    }
}
