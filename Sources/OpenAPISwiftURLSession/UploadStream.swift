import Foundation
import OpenAPISwiftRuntime

#if canImport(FoundationNetworking)
    /// A placeholder: FoundationNetworking does not implement bound streams, so bodies are read into memory before they
    /// are sent.
    struct UploadStream: Sendable {
        let error: (any Error)?
    }
#else
    import Synchronization

    /// Writes a request's body to a session, through a pair of bound streams.
    final class UploadStream: NSObject, StreamDelegate, @unchecked Sendable {
        private static let capacity = 64 * 1024

        let input: InputStream
        private let source: HTTPBody
        private let output: OutputStream
        private let failure = Mutex<(any Error)?>(nil)
        private let space = Mutex<CheckedContinuation<Void, Never>?>(nil)
        private let queue = DispatchQueue(label: "OpenAPISwiftURLSession.upload")
        private let pump = Mutex<Task<Void, Never>?>(nil)

        /// Ends the request when its body cannot be read.
        private let cancel: @Sendable () -> Void

        /// The error of reading the body, if there was one.
        var error: (any Error)? { failure.withLock { $0 } }

        init(_ body: HTTPBody, cancel: @escaping @Sendable () -> Void) throws {
            source = body
            self.cancel = cancel
            var input: InputStream?
            var output: OutputStream?
            Stream.getBoundStreams(withBufferSize: Self.capacity, inputStream: &input, outputStream: &output)
            guard let input, let output else {
                throw TransportError(
                    code: .connectionFailed,
                    message: "No stream could be made for the body of the request."
                )
            }
            self.input = input
            self.output = output
            super.init()
            output.delegate = self
            CFWriteStreamSetDispatchQueue(output as CFWriteStream, queue)
            output.open()
        }

        /// Begins to read the body, once there is a request to cancel.
        func start() {
            let task = Task { [weak self] in
                guard let self else { return }
                await self.write(self.source)
            }
            pump.withLock { $0 = task }
        }

        deinit {
            pump.withLock { $0?.cancel() }
            output.close()
        }

        /// The same body from its start; nil if it can be read only once.
        func again() -> UploadStream? {
            source.iterationBehavior == .multiple ? try? UploadStream(source, cancel: cancel) : nil
        }

        func stream(_ stream: Stream, handle event: Stream.Event) {
            guard !event.isDisjoint(with: [.hasSpaceAvailable, .errorOccurred, .endEncountered]) else { return }
            space.withLock { $0.take() }?.resume()
        }

        private func write(_ body: HTTPBody) async {
            // The stream is closed last, so that a body that ends early does not look like a whole body.
            defer { output.close() }
            do {
                for try await chunk in body {
                    var rest = chunk
                    while !rest.isEmpty {
                        await waitForSpace()
                        try Task.checkCancellation()
                        let count = rest.withUnsafeBufferPointer { bytes -> Int in
                            guard let start = bytes.baseAddress else { return 0 }
                            return output.write(start, maxLength: bytes.count)
                        }
                        // The session has closed the stream; its own error says why.
                        guard count > 0 else { return }
                        rest = rest.dropFirst(count)
                    }
                }
            } catch {
                failure.withLock { $0 = error }
                cancel()
            }
        }

        private func waitForSpace() async {
            await withCheckedContinuation { continuation in
                let hasSpace = space.withLock { space -> Bool in
                    if output.hasSpaceAvailable || output.streamStatus == .error || output.streamStatus == .closed {
                        return true
                    }
                    space = continuation
                    return false
                }
                if hasSpace { continuation.resume() }
            }
        }
    }
#endif
