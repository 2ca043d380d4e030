import Dispatch
import Foundation

/// Calls a closure for the first signal of a number. The second one has its usual effect.
///
/// A signal that the process ignores since its start, as under `nohup`, stays ignored.
final class SignalHandler {
    private let source: (any DispatchSourceSignal)?
    private let restore: () -> Void

    init(_ number: Int32, _ action: @escaping @Sendable () -> Void) {
        let previous = signal(number, SIG_IGN)
        restore = { signal(number, previous) }
        guard unsafeBitCast(previous, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self) else {
            source = nil
            return
        }
        let source = DispatchSource.makeSignalSource(signal: number)
        source.setEventHandler {
            signal(number, SIG_DFL)
            action()
        }
        source.resume()
        self.source = source
    }

    /// Gives the signal its former effect again.
    func cancel() {
        source?.cancel()
        restore()
    }
}
