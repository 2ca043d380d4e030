/// Deviations from the document that a generated server accepts in requests.
///
/// A generated server refuses a request that the document does not allow. A server that takes the place of an older
/// one has to accept what the clients of that server send, and they may have never been held to a document:
///
/// ```swift
/// try Observatory().registerHandlers(on: transport, configuration: Configuration(lenientReading: .all))
/// // GET /sightings?limit=   is answered as GET /sightings; by default, it is answered by 400
/// ```
public struct LenientReading: OptionSet, Hashable, Sendable {
    /// The bits of the deviations in the set.
    public var rawValue: Int

    /// Creates a set of deviations from its bits.
    /// - Parameter rawValue: The bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// `Content-Type` is ignored where the document has one media type for the body: the body is read as that type.
    /// Without this option, another type is answered by 415. A multipart body needs its type in any case, because the
    /// boundary is there.
    public static let anyContentType = LenientReading(rawValue: 1 << 0)

    /// `Accept` is ignored: the response has the type that the handler chose. Without this option, a client that
    /// excludes that type is answered by 406, and one whose `Accept` cannot be read by 400.
    public static let anyAccept = LenientReading(rawValue: 1 << 1)

    /// A query item without `=`, and an item without a value whose parameter is a number or a boolean, count as
    /// absent. Without this option, they are answered by 400. An item `name=` of a string is the empty string in both
    /// cases. Members of an object in the query, and a form that is the whole query, are read as without this option.
    public static let emptyQueryItems = LenientReading(rawValue: 1 << 2)

    /// Booleans of the query are read without regard to case, such as the `True` of Python. Without this option,
    /// other spellings than `true` and `false` are answered by 400. Members of an object in the query, and a form that
    /// is the whole query, are read as without this option.
    public static let booleansInAnyCase = LenientReading(rawValue: 1 << 3)

    /// All deviations.
    public static let all: LenientReading = [.anyContentType, .anyAccept, .emptyQueryItems, .booleansInAnyCase]
}
