import CloudKitModel
import Synchronization

/// A cache of values of the storage that never change, so that the next request does not read them again.
final class KnownValues<Value: Sendable>: Sendable {
    /// The name of a token, a key or a person in an environment of a container.
    struct Name: Hashable {
        let text: String
        let container: String
        let environment: ContainerEnvironment
    }

    private let values = Mutex<[Name: Value]>([:])

    subscript(name: Name) -> Value? {
        get { values.withLock { $0[name] } }
        set { values.withLock { $0[name] = newValue } }
    }
}
