/// When a failed request is sent again, and how long to wait before.
///
/// ```swift
/// var policy = RetryPolicy()
/// policy.maximumAttempts = 8
/// let service = CloudKitService(
///     containerIdentifier: "iCloud.com.example", tokenManager: manager, retryPolicy: policy)
/// ```
///
/// ## What is repeated
///
/// 1. **What the service says it did not do** is repeated whatever it was: ``CloudKitError/Code-swift.struct/throttled``,
///    ``CloudKitError/Code-swift.struct/tryAgainLater``, ``CloudKitError/Code-swift.struct/zoneBusy``, a request on the
///    wrong connection (``CloudKitError/Code-swift.struct/misdirectedRequest``), any failure of the service with a
///    `retryAfter`, a 503 with a `Retry-After`, and the 404 `could not find handler for endpoint`, which a busy service
///    was seen to give. So is a request that was never sent, as no connection came about. Nothing was stored, so nothing
///    can be stored twice. Where single items of an answer say so, they alone are sent again.
/// 2. **What only reads** is repeated as well after a lost connection, a timeout, a proxy's 502, 503 or 504, and an internal
///    error: reading twice does no harm. Upload addresses, receipts for assets that are there already, and device tokens
///    count as reading: one whose reply was lost lapses, and a device token that is registered twice is registered.
/// 3. **Writes of records and zones** are repeated after those where the second answer tells what became of the first:
///    - `create` with a name: a second one is refused with ``CloudKitError/Code-swift.struct/exists`` or
///      ``CloudKitError/Code-swift.struct/conflict``. Then the record is fetched, and if it is the one that was sent, the first
///      one was done, and the call succeeds with it.
///    - `create` without a name is not repeated: the service would make a second record. Name your records.
///    - `update` and `replace`: a second one is refused with a conflict, as the first changed the tag. If the service's record
///      has what was sent, the call succeeds with it. Otherwise another client was quicker, and the call fails with the conflict.
///    - `forceUpdate` and `forceReplace` could overwrite what another client wrote after the first. So the record is looked at
///      before: if it has what was sent, the call succeeds with it, and otherwise the operation is sent again, as it is asked to
///      overwrite.
///    - `delete` and `forceDelete`: a record that the second one does not find is deleted.
///    - An atomic batch is repeated as a whole if all its operations can be; it was done if all of it was.
///    - Zones: one that is there was made, one that is gone was deleted.
/// 4. **Other writes** (subscriptions, accepting shares) are not repeated after those: the reply is lost, the write perhaps not,
///    and the service's answer to a second one does not tell. The call fails, and the caller looks.
/// 5. **Anything else** would fail again: a bad request, a conflict, a refused credential, an answer that cannot be read or
///    that is too long.
///
/// ## How long it waits
///
/// As long as the service asks: the longest of `retryAfter` in the body, `retryAfter` of the items, and the header field
/// `Retry-After`. To this, or to nothing, a random time between zero and ``baseDelay`` · 2ⁿ⁻¹, at most ``maximumDelay``, is
/// added before the n-th repetition: spread over the whole range, so that many that failed together do not come back together.
///
/// ## Throttling
///
/// When the service throttles one request, all others of this program to the same container and environment wait as well: the service
/// would refuse them too, and ask for a longer wait. Each is sent when the wait is over, after a random time up to ``baseDelay`` more. A
/// request that would have to wait beyond its ``deadline`` is not sent, and fails with ``CloudKitError/Code-swift.struct/throttled``.
/// Requests of a policy that never repeats neither trigger nor obey this throttle.
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
    /// How often a request is sent at most, the first time included.
    public var maximumAttempts: Int

    /// The longest first wait.
    public var baseDelay: Duration

    /// The longest wait, where the service does not ask for another.
    public var maximumDelay: Duration

    /// How long after its beginning a request may still be sent again. A service that asks to wait longer gets no further
    /// attempt: the error says how long to wait, and the caller decides.
    ///
    /// For the transfer of a file it counts from the first failure after the transfer last made progress.
    public var deadline: Duration

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - maximumAttempts: How often a request is sent at most; 1 and less mean once.
    ///   - baseDelay: The longest first wait.
    ///   - maximumDelay: The longest wait.
    ///   - deadline: How long after its beginning a request may still be sent again.
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
