/// The state of a sequence of pages, with at most one page requested ahead of the caller.
///
/// It is a pure value: ``PageReader`` reports each event, and carries out the returned effect. The position of a page,
/// such as a marker or a change token, is where it begins.
enum PagingState<Position: Equatable & Sendable>: Equatable, Sendable {
    /// The page at the position is next; nothing is under way.
    case idle(Position)
    /// The request for the next page is under way, and the caller works on the page before.
    case ahead(Position)
    /// The caller waits for the page.
    case awaited(Position)
    /// The page has arrived and is read. The request for the page after it may be under way already.
    case reading(Position, ahead: Position?)
    /// The last page said that the next one begins where the last page itself began.
    case stuck
    /// There are no further pages.
    case finished

    enum Event: Equatable, Sendable {
        /// The caller asks for a page.
        case asked
        /// The page has arrived. `announced` is where the next page begins; `nil` if that is known only after reading
        /// this page.
        case arrived(announced: Position?)
        /// The page was read. `next` is where the next page begins; `nil` for the last page.
        case read(next: Position?, isEmpty: Bool)
        /// The request or its reading failed.
        case failed
    }

    enum Effect: Equatable, Sendable {
        /// Send the request for a page and wait for it.
        case fetch(Position)
        /// Wait for the page that is under way.
        case receive
        /// Send the request for a page, and cancel any other that is under way.
        case send(Position)
        /// Cancel the request that is under way.
        case discard
        /// Throw an error to the caller: the pages of the service would never end.
        case failEndless
        /// Tell the caller that there are no further pages.
        case end
        case nothing
    }

    /// Goes to the next state.
    ///
    /// - Parameters:
    ///   - event: The event. An event that cannot happen in the state ends the sequence.
    ///   - looksAhead: Whether the next page is requested before the caller asks for it.
    /// - Returns: The effect, which the caller carries out.
    mutating func handle(_ event: Event, looksAhead: Bool) -> Effect {
        switch event {
        case .asked:
            switch self {
            case .idle(let position): return become(.awaited(position), .fetch(position))
            case .ahead(let position): return become(.awaited(position), .receive)
            case .stuck: return become(.finished, .failEndless)
            case .finished: return become(.finished, .end)
            case .awaited, .reading: break
            }
        case .arrived(let announced):
            guard case .awaited(let position) = self else { break }
            guard looksAhead, let announced, announced != position else {
                return become(.reading(position, ahead: nil), .nothing)
            }
            return become(.reading(position, ahead: announced), .send(announced))
        case .read(let next, let isEmpty):
            guard case .reading(let position, let ahead) = self, let next else { break }
            if next == position { return isEmpty ? become(.finished, .failEndless) : become(.stuck, .discard) }
            if next == ahead { return become(.ahead(next), .nothing) }
            return looksAhead ? become(.ahead(next), .send(next)) : become(.idle(next), .nothing)
        case .failed: break
        }
        return become(.finished, .discard)
    }

    private mutating func become(_ state: PagingState, _ effect: Effect) -> Effect {
        self = state
        return effect
    }
}
