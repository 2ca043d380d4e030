import Synchronization
import Testing

@testable import MistKit

struct ConcurrentMapTests {
    @Test(arguments: [1, 3, 100])
    func outcomesAreInTheOrderOfTheItemsAndWorkIsBounded(limit: Int) async {
        let underWay = Mutex((now: 0, most: 0))
        let outcomes = await concurrentMap(Array(0..<20), atMost: limit) { index, item in
            underWay.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            // Later items finish earlier.
            for _ in index..<20 { await Task.yield() }
            underWay.withLock { $0.now -= 1 }
            return index * 100 + item
        }
        #expect(outcomes == (0..<20).map { $0 * 101 })
        #expect(underWay.withLock { $0.most } <= limit)
    }

    @Test(arguments: [1, 2])
    func noWorkBeginsAfterTheReceiverSaysStop(limit: Int) async {
        let begun = Mutex(0)
        var received = 0
        await forEachConcurrently(Array(0..<50), atMost: limit) { _, _ in
            begun.withLock { $0 += 1 }
        } receive: { _, _ in
            received += 1
            return false
        }
        #expect(begun.withLock { $0 } == limit)
        #expect(received == limit)
    }
}
