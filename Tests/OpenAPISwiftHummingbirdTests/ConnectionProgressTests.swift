import NIOCore
import Testing

@testable import OpenAPISwiftHummingbird

/// The events that count as progress of a connection, by the second.
struct ConnectionProgressTests {

    enum Event: Sendable {
        case startReading, bytes, stopReading, head, end, write, endResponse
    }

    /// Events in one second, counted from the opening of the connection.
    struct Moment: Sendable {
        var second: Int64
        var events: [Event]

        init(_ second: Int64, _ events: Event...) {
            self.second = second
            self.events = events
        }

        /// A request without a body.
        static func request(_ second: Int64) -> Moment {
            Moment(second, .startReading, .bytes, .head, .end, .stopReading)
        }
        /// A response.
        static func response(_ second: Int64) -> Moment { Moment(second, .write, .endResponse) }
    }

    struct Story: Sendable, CustomTestStringConvertible {
        var title: String
        var moments: [Moment]
        /// The number of response bytes that the client has not taken at a second.
        var buffered: @Sendable (Int64) -> Int = { _ in 0 }
        /// When the connection is closed, and why; `nil` if it is still open after two hours.
        var end: (second: Int64, stall: ConnectionProgress.Stall)?

        var testDescription: String { title }
    }

    static let stories: [Story] = {
        let halfAHead = [Moment(0, .startReading), Moment(10, .bytes), Moment(25, .bytes), Moment(39, .bytes)]
        let halfABody = [Moment(0, .startReading), Moment(5, .bytes, .head), Moment(50, .bytes)]
        var slowBody = [Moment(0, .startReading, .bytes, .head)]
        for second in stride(from: Int64(59), to: 7200, by: 59) { slowBody.append(Moment(second, .bytes)) }
        let unreadBody = [Moment(0, .startReading, .bytes, .head, .stopReading)]
        let poll: [Moment] = [.request(1), Moment(1, .startReading)]
        var manyRequests: [Moment] = []
        for second in stride(from: Int64(60), to: 7200, by: 60) {
            manyRequests += [.request(second), .response(second + 1)]
        }
        let pipelined: [Moment] = [.request(1), Moment(2, .startReading, .bytes), .response(500)]
        let answered: [Moment] = [.request(1), .response(1)]
        var manyWrites: [Moment] = [.request(1)]
        for second in stride(from: Int64(1), to: 7200, by: 50) { manyWrites.append(Moment(second, .write)) }
        let nonsense: [Moment] = [
            Moment(0, .startReading, .bytes), .response(0), .request(20), .response(20),
        ]
        return [
            Story(title: "nothing is sent", moments: [Moment(0, .startReading)], end: (75, .idle)),
            Story(title: "a head in pieces", moments: halfAHead, end: (40, .head)),
            Story(title: "a body that stands still", moments: halfABody, end: (110, .requestBody)),
            Story(title: "a slow body", moments: slowBody),
            Story(title: "a body that the server does not read", moments: unreadBody),
            Story(
                title: "a body that the server reads again after a while",
                moments: unreadBody + [Moment(1000, .startReading)],
                end: (1060, .requestBody)
            ),
            Story(title: "a long poll", moments: poll),
            Story(title: "a long poll, and then nothing", moments: poll + [.response(3000)], end: (3075, .idle)),
            Story(title: "requests, one after another", moments: manyRequests),
            Story(title: "half a head behind a request that is answered late", moments: pipelined, end: (530, .head)),
            Story(
                title: "a response that is not taken",
                moments: answered,
                buffered: { $0 < 1 ? 0 : 5_000_000 },
                end: (61, .response)
            ),
            Story(
                title: "a response that is taken slowly",
                moments: answered,
                buffered: { $0 < 1 ? 0 : 200 - Int($0) / 50 }
            ),
            Story(
                title: "a response of which the client takes as much as is written",
                moments: manyWrites,
                buffered: { $0 < 1 ? 0 : 1000 }
            ),
            Story(title: "an answer to what is not a request", moments: nonsense, end: (95, .idle)),
        ]
    }()

    @Test(arguments: stories) func aConnectionIsClosedWhenItsClientExceedsATimeout(story: Story) {
        let limits = ServerLimits()
        let opened = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
        var progress = ConnectionProgress(openedAt: opened)
        var end: (second: Int64, stall: ConnectionProgress.Stall)?
        for second in Int64(0)...7200 {
            let now = opened + .seconds(second)
            for moment in story.moments where moment.second == second {
                for event in moment.events {
                    switch event {
                    case .startReading: progress.startReading(at: now)
                    case .bytes: progress.receiveBytes(at: now)
                    case .stopReading: progress.stopReading()
                    case .head: progress.receiveHead(at: now)
                    case .end: progress.receiveEnd(at: now)
                    case .write: progress.write()
                    case .endResponse: progress.endResponse(at: now)
                    }
                }
            }
            let buffered = story.buffered(second)
            if let stall = progress.stall(limits, at: now, bufferedBytes: buffered) {
                end = (second, stall)
                break
            }
        }
        #expect(end?.second == story.end?.second)
        #expect(end?.stall == story.end?.stall)
    }

    @Test func theNumberOfConnectionsIsBelowTheNumberOfFileDescriptors() {
        var limits = ServerLimits()
        #expect((1...10_000).contains(limits.effectiveMaximumConnections))
        limits.maximumConnections = 7
        #expect(limits.effectiveMaximumConnections == 7)
        limits.maximumConnections = 0
        #expect(limits.effectiveMaximumConnections == 1)
    }
}
