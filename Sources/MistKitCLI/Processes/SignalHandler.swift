import Dispatch
import Foundation

/// Calls a closure for the first signal of a number. The second one has its usual effect.
///
/// A signal that the process ignores since its start, as SIGHUP under `nohup`, stays ignored unless the caller wants it.
final class SignalHandler {
    private let source: (any DispatchSourceSignal)?
    private let restore: () -> Void

    /// Whether it waits for the signal, which the process does not ignore.
    var isWaiting: Bool { source != nil }

    /// Begins to wait for a signal.
    ///
    /// - Parameters:
    ///   - number: The signal.
    ///   - evenIfIgnored: Whether to wait for a signal that the process ignores since its start, too.
    ///   - action: The closure, which runs on a global queue.
    init(_ number: Int32, evenIfIgnored: Bool = false, _ action: @escaping @Sendable () -> Void) {
        let previous = signal(number, SIG_IGN)
        restore = { signal(number, previous) }
        let isIgnored = unsafeBitCast(previous, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        guard evenIfIgnored || !isIgnored else {
            source = nil
            return
        }
        let source = DispatchSource.makeSignalSource(signal: number)
        source.setEventHandler {
            signal(number, SIG_DFL)
            action()
        }
        let registered = DispatchSemaphore(value: 0)
        source.setRegistrationHandler { registered.signal() }
        source.resume()
        // The source is registered by another thread, and a signal before that would be lost.
        _ = registered.wait(timeout: .now() + 1)
        self.source = source
    }

    /// Gives the signal its former effect again.
    func cancel() {
        source?.cancel()
        restore()
    }
}
