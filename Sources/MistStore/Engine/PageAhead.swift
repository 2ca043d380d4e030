import MistKit

/// Which request follows a page of changes: the loop sends it while the engine still applies the page.
///
/// The engine decides about it afterwards, and takes the reply if it asks for just that. So the service works on a page while this machine
/// works on the one before it, and a change and a page of its zone are never under way together.
enum PageAhead {
    /// The request that the engine is expected to ask for after a reply.
    ///
    /// - Parameters:
    ///   - request: The request that was sent.
    ///   - result: Its reply.
    /// - Returns: The request for the next pages of the same zones; `nil` where none follows, or where the engine may ask for something
    ///   else: a zone that fails has rules of its own, and a request that was full leaves out zones that come next.
    static func request(after request: SyncRequest, _ result: Result<SyncReply, CloudKitError>) -> SyncRequest? {
        guard case .zoneChanges(let cursors) = request, cursors.count < SyncRequest.zonesPerRequest,
            case .success(.zoneChanges(let results)) = result, results.count == cursors.count
        else { return nil }
        var following: [SyncRequest.ZoneCursor] = []
        for (cursor, result) in zip(cursors, results) {
            guard case .success(let page) = result else { return nil }
            if page.moreComing {
                following.append(SyncRequest.ZoneCursor(zoneID: cursor.zoneID, token: page.token))
            }
        }
        return following.isEmpty ? nil : .zoneChanges(following)
    }
}
