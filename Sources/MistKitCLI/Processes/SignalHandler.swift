import Dispatch
import Foundation

/// Calls a closure for the first signal of a number. The second one has its usual effect.
final class SignalHandler {
    private let number: Int32
    private let source: any DispatchSourceSignal

    init(_ number: Int32, _ action: @escaping @Sendable () -> Void) {
        self.number = number
        signal(number, SIG_IGN)
        source = DispatchSource.makeSignalSource(signal: number)
        source.setEventHandler {
            signal(number, SIG_DFL)
            action()
        }
        source.resume()
    }

    /// Gives the signal its usual effect again.
    func cancel() {
        source.cancel()
        signal(number, SIG_DFL)
    }
}
