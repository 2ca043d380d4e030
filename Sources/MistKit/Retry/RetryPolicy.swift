/// The rules for retries: which failed requests are sent again, how often, and after which wait.
///
/// ```swift
/// var policy = RetryPolicy()
/// policy.maximumAttempts = 8
/// var configuration = CloudKitService.Configuration()
/// configuration.retryPolicy = policy
/// let service = CloudKitService(
///     containerIdentifier: "iCloud.com.example", tokenManager: manager, configuration: configuration)
/// ```
///
/// ## What is repeated
///
/// 1. **Requests that the service says it did not carry out** are repeated, reads and writes alike:
///    ``CloudKitError/Code-swift.struct/throttled``, ``CloudKitError/Code-swift.struct/tryAgainLater``,
///    ``CloudKitError/Code-swift.struct/zoneBusy``, a request on the wrong connection
///    (``CloudKitError/Code-swift.struct/misdirectedRequest``), any failure of the service with a `retryAfter`, a 503
///    with a `Retry-After`, and the 404 `could not find handler for endpoint`, which a busy service was observed to
///    send. So is a request that was never sent, as no connection was made. Nothing was stored, so nothing can be
///    stored twice. Where single items of a response say so, only these items are sent again.
/// 2. **Requests that only read** are repeated as well after a lost connection, a timeout, a proxy's 502, 503 or 504,
///    and an internal error: reading twice does no harm. Requests for upload addresses, for receipts of assets that
///    exist already, and for device tokens count as reads: an address or token whose reply was lost expires, and
///    registering a device token twice has the same effect as once.
/// 3. **Writes of records and zones** are repeated after the errors of rule 2 if the second response shows whether the
///    first attempt was done:
///    - `create` with a name: the second attempt is refused with ``CloudKitError/Code-swift.struct/exists`` or
///      ``CloudKitError/Code-swift.struct/conflict``. Then the client fetches the record. If it is the record that was
///      sent, the first attempt was done, and the call succeeds with it.
///    - `create` without a name is not repeated: the service would make a second record. Name your records.
///    - `update` and `replace`: the second attempt is refused with a conflict, as the first changed the change tag. If
///      the service's record has the fields that were sent, the call succeeds with it. Otherwise another client changed
///      the record, and the call fails with the conflict.
///    - `forceUpdate` and `forceReplace` could overwrite what another client wrote after the first attempt. So the
///      client fetches the record before the second attempt. If the record has the fields that were sent, the call
///      succeeds with it. Otherwise the operation is sent again, as its purpose is to overwrite.
///    - `delete` and `forceDelete`: if the second attempt does not find the record, the record was deleted.
///    - An atomic batch is repeated as a whole if all its operations can be repeated. It was done if all of them were
///      done.
///    - Zones: a zone that exists was created, a zone that does not exist was deleted.
/// 4. **Other writes** (subscriptions, accepting shares) are not repeated after these errors: the reply was lost, but
///    the write perhaps not, and the response to a second attempt would not show it. The call fails, and the caller has
///    to check.
/// 5. **Anything else** would fail again: a bad request, a conflict, refused credentials, a response that cannot be
///    read or that is too long.
///
/// ## How long it waits
///
/// The wait is the time that the service asks for, if it does, and a random time more. The service asks with
/// `retryAfter` in the body, `retryAfter` of the items, or the header field `Retry-After`; the longest counts. The
/// random time before the n-th retry is between zero and ``baseDelay`` · 2ⁿ⁻¹, at most ``maximumDelay``. It is spread
/// over the whole range, so that requests that failed together are not sent again together.
///
/// ## Throttling
///
/// When the service throttles one request, all others of this program to the same container and environment wait as
/// well: the service would refuse them too, and ask for a longer wait. Each is sent when the wait is over, after a
/// random time of up to ``baseDelay`` more. A request that would have to wait beyond its ``deadline`` is not sent, and
/// fails with ``CloudKitError/Code-swift.struct/throttled``. Requests of a policy that never repeats neither trigger
/// nor obey this throttle.
///
/// ## When it gives up
///
/// After ``maximumAttempts``, or when the next attempt would begin after the ``deadline``, the call fails with the last error;
/// its ``CloudKitError/attempts`` says how often the request was sent.
///
/// ## Batches
///
/// A batch that the service calls too large (``CloudKitError/Code-swift.struct/limitExceeded``, or a 413 that is not about quotas) is
/// sent again in halves, unless it is atomic.
///
/// ## Topics
///
/// ### Policies
/// - ``init(maximumAttempts:baseDelay:maximumDelay:deadline:)``
/// - ``never``
///
/// ### Limits
/// - ``maximumAttempts``
/// - ``baseDelay``
/// - ``maximumDelay``
/// - ``deadline``
public struct RetryPolicy: Hashable, Sendable {
    /// The most times that a request is sent, the first time included.
    public var maximumAttempts: Int

    /// The longest random wait before the first retry.
    public var baseDelay: Duration

    /// The longest random wait. A wait that the service asks for comes in addition.
    public var maximumDelay: Duration

    /// The time after the beginning of a call in which a request may be sent again.
    ///
    /// If the service asks to wait longer, there is no further attempt: the error says how long to wait, and the caller
    /// decides.
    ///
    /// For the transfer of a file the time counts from the first failure after the transfer last made progress.
    public var deadline: Duration

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - maximumAttempts: The most times that a request is sent; 1 and less mean once.
    ///   - baseDelay: The longest random wait before the first retry.
    ///   - maximumDelay: The longest random wait.
    ///   - deadline: The time after the beginning of a call in which a request may be sent again.
    public init(
        maximumAttempts: Int = 5,
        baseDelay: Duration = .milliseconds(500),
        maximumDelay: Duration = .seconds(20),
        deadline: Duration = .seconds(60)
    ) {
        self.maximumAttempts = maximumAttempts
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
        self.deadline = deadline
    }

    /// Every request is sent once.
    public static let never = RetryPolicy(maximumAttempts: 1)
}
