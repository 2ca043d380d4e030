import MistKit

/// Predicts the request after a page of changes. The loop sends this request while the engine still applies the page.
///
/// Afterwards the engine decides on its next request, and uses the reply if the two requests are equal. So the service
/// works on a page while this machine works on the page before it. A change and a page of its zone are never under way
/// together.
enum RequestAhead {
    /// The request that the engine is expected to send after a reply.
    ///
    /// - Parameters:
    ///   - request: The request that was sent.
    ///   - result: Its reply.
    /// - Returns: The request for the next pages of the same zones; `nil` where no page follows, or where the engine
    ///   may send another request: a zone that fails has rules of its own, as has a page without some of its records,
    ///   and a request with the most zones may have left out further zones.
    static func request(after request: SyncRequest, _ result: Result<SyncReply, CloudKitError>) -> SyncRequest? {
        guard case .zoneChanges(let cursors) = request, cursors.count < SyncRequest.zonesPerRequest,
            case .success(.zoneChanges(let results)) = result, results.count == cursors.count
        else { return nil }
        var following: [SyncRequest.ZoneCursor] = []
        for (cursor, result) in zip(cursors, results) {
            guard case .success(let page) = result, page.failures.isEmpty else { return nil }
            if page.moreComing {
                var next = cursor
                next.token = page.token
                following.append(next)
            }
        }
        return following.isEmpty ? nil : .zoneChanges(following)
    }
}
