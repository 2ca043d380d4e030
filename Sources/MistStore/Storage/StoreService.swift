import MistKit

/// The service that a program synchronises with, as far as it decides which records there are.
package struct StoreService: Hashable, Sendable {
    package var container: String
    package var environment: String
    /// Whether it is Apple's service. An emulator of the same container has other records. Its address is not
    /// compared, because it may have another port each time.
    package var isApple: Bool
}

/// A service that passes requests on to CloudKit's.
package protocol ForwardingSyncService: SyncService {
    /// The service that gets the requests.
    var target: CloudKitService { get }
}

extension StoreService {
    /// The service behind a program's; `nil` for one that the program has made itself.
    init?(_ service: any SyncService) {
        guard let target = service as? CloudKitService ?? (service as? any ForwardingSyncService)?.target else {
            return nil
        }
        container = target.containerIdentifier
        environment = target.environment.rawValue
        isApple = target.isApple
    }
}

extension StoreService: CustomStringConvertible {
    package var description: String {
        "the container \(container) (\(environment)) of \(isApple ? "Apple's service" : "a service that is not Apple's")"
    }
}
