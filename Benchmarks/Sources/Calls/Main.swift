import Dispatch
import Foundation
import OpenAPISwiftRuntime

/// Calls an operation from a client to a server in the same process: JSON out, JSON back, and the rest of the work of a
/// call.
///
/// ```
/// swift run -c release --package-path Benchmarks Calls
/// // generated client and server                       ...
/// swift run -c release --package-path Benchmarks Calls generated 2000
/// // calls it 2000 times, for a profiler
/// ```
@main
struct Main {
    /// Everything runs on the main thread, so that a profiler can follow it and no other thread takes part of the time.
    static func main() {
        let end = DispatchSemaphore(value: 0)
        Task(executorPreference: CallingThread()) {
            do {
                try await run(arguments: Array(CommandLine.arguments.dropFirst()))
            } catch {
                FileHandle.standardError.write(Data("\(error)\n".utf8))
                exit(1)
            }
            end.signal()
        }
        end.wait()
    }

    /// Runs each job at once, on the thread that enqueues it.
    private final class CallingThread: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    private static func run(arguments: [String]) async throws {
        let contenders = try contenders()
        if arguments.count == 2, let calls = Int(arguments[1]) {
            guard let contender = contenders.first(where: { $0.name.hasPrefix(arguments[0]) }) else {
                throw Unknown(contender: arguments[0])
            }
            return try await contender.run(calls)
        }
        try await report(contenders, rounds: 31)
    }

    private struct Unknown: Error {
        var contender: String
    }

    private struct Contender {
        var name: String
        /// Calls the operation `n` times.
        var run: (Int) async throws -> Void
    }

    private static func contenders() throws -> [Contender] {
        let server = try URL(validatingOpenAPIServerURL: "http://shop.test/v1")
        let lines = [("tea", 2, 3.5, "loose"), ("cup", 4, 7.25, nil), ("spoon, silver", 6, 12.0, "polished")]
        let transport = InProcessTransport()
        try Shop().registerHandlers(on: transport, serverURL: server)
        let client = Client(serverURL: server, transport: transport)
        let order = Components.Schemas.Order(
            customer: "Zoë Miller, 7 Lane",
            isGift: true,
            lines: lines.map { .init(article: $0.0, count: $0.1, price: $0.2, remark: $0.3) }
        )
        let plainTransport = InProcessTransport()
        try HandWritten.registerHandler(on: plainTransport)
        let plainServer = try URL(validatingOpenAPIServerURL: "http://shop.test")
        let plainOrder = HandWritten.Order(
            customer: "Zoë Miller, 7 Lane",
            isGift: true,
            lines: lines.map { .init(article: $0.0, count: $0.1, price: $0.2, remark: $0.3) }
        )
        return [
            Contender(name: "generated client and server") { calls in
                for _ in 0..<calls {
                    let receipt = try await client.placeOrder(
                        path: .init(shop: "corner"),
                        query: .init(express: true),
                        body: .json(order)
                    ).created.body.json
                    guard receipt.total == 113, receipt.order.lines.count == 3 else { throw HandWritten.Failure() }
                }
            },
            Contender(name: "hand-written, JSONEncoder and JSONDecoder") { calls in
                for _ in 0..<calls {
                    let receipt = try await HandWritten.placeOrder(
                        plainOrder,
                        shop: "corner",
                        express: true,
                        over: plainTransport,
                        at: plainServer
                    )
                    guard receipt.total == 113, receipt.order.lines.count == 3 else { throw HandWritten.Failure() }
                }
            },
        ]
    }

    /// Runs all contenders in turns. The time is that of the processor: what other programs take does not count.
    private static func report(_ contenders: [Contender], rounds: Int) async throws {
        let calls = 500
        var times = [[Double]](repeating: [], count: contenders.count)
        for round in 0...rounds {
            for (index, contender) in contenders.enumerated() {
                let start = clock()
                try await contender.run(calls)
                let seconds = Double(clock() - start) / Double(CLOCKS_PER_SEC)
                if round > 0 { times[index].append(seconds / Double(calls)) }
            }
        }
        let medians = times.map { $0.sorted()[$0.count / 2] }
        print("One call, client to server and back in one process; medians of \(rounds) rounds of \(calls) calls")
        for (contender, seconds) in zip(contenders, medians) {
            print(
                contender.name.padding(toLength: 44, withPad: " ", startingAt: 0)
                    + String(
                        format: "%7.1f us   %7.0f calls/s   %5.2fx",
                        seconds * 1e6,
                        1 / seconds,
                        medians[1] / seconds
                    )
            )
        }
    }
}

/// The server's side.
private struct Shop: APIProtocol {
    func placeOrder(_ input: Operations.PlaceOrder.Input) async throws -> Operations.PlaceOrder.Output {
        guard case .json(let order) = input.body else { return .conflict(.init(body: .json(.init(article: "")))) }
        let surcharge: Double = input.query.express == true ? 5 : 0
        let total = order.lines.reduce(surcharge) { $0 + Double($1.count) * $1.price }
        return .created(
            .init(body: .json(.init(number: input.path.shop.utf8.count, total: total, order: order)))
        )
    }
}
