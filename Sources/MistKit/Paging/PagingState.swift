/// The state of a sequence of pages, with at most one page requested ahead of the caller.
///
/// It is a pure value: ``PageReader`` reports each event, and does what comes back. A page has a position, such as a marker or a
/// change token: where it begins.
enum PagingState<Position: Equatable & Sendable>: Equatable, Sendable {
    /// The page at the position is next; nothing is under way.
    case idle(Position)
    /// The request for the next page is under way, and the caller works on the page before.
    case ahead(Position)
    /// The caller waits for the page.
    case awaited(Position)
    /// The page has come and is read. The request for the page after it may be under way already.
    case reading(Position, ahead: Position?)
    /// The last page said that the next one begins where it did itself.
    case stuck
    /// There are no further pages.
    case finished

    enum Event: Equatable, Sendable {
        /// The caller asks for a page.
        case asked
        /// The page has come. Where the next one begins is known already, or only after reading this one.
        case arrived(announced: Position?)
        /// The page was read. `next` is where the next one begins; `nil` for the last page.
        case read(next: Position?, isEmpty: Bool)
        /// The request or its reading failed.
        case failed
    }

    enum Effect: Equatable, Sendable {
        /// Send the request for a page and wait for it.
        case fetch(Position)
        /// Wait for the page that is under way.
        case receive
        /// Send the request for a page, in place of any other that is under way.
        case send(Position)
        /// Cancel what is under way.
        case discard
        /// Tell the caller that the service never comes to an end.
        case failEndless
        /// Tell the caller that there are no further pages.
        case end
        case nothing
    }

    /// Goes to the next state.
    ///
    /// - Parameters:
    ///   - event: What happened. Events that cannot happen in a state end the sequence.
    ///   - looksAhead: Whether the next page is requested before the caller asks for it.
    /// - Returns: What to do.
    mutating func handle(_ event: Event, looksAhead: Bool) -> Effect {
        let effect: Effect
        (self, effect) = after(event, looksAhead: looksAhead)
        return effect
    }

    private func after(_ event: Event, looksAhead: Bool) -> (PagingState, Effect) {
        switch (self, event) {
        case (.idle(let position), .asked):
            return (.awaited(position), .fetch(position))
        case (.ahead(let position), .asked):
            return (.awaited(position), .receive)
        case (.awaited(let position), .arrived(let announced)):
            guard looksAhead, let announced, announced != position else {
                return (.reading(position, ahead: nil), .nothing)
            }
            return (.reading(position, ahead: announced), .send(announced))
        case (.reading, .read(next: nil, _)):
            return (.finished, .discard)
        case (.reading(let position, _), .read(let next?, let isEmpty)) where next == position:
            return isEmpty ? (.finished, .failEndless) : (.stuck, .discard)
        case (.reading(_, let ahead), .read(let next?, _)):
            if ahead == next { return (.ahead(next), .nothing) }
            return looksAhead ? (.ahead(next), .send(next)) : (.idle(next), .nothing)
        case (.stuck, .asked):
            return (.finished, .failEndless)
        case (.finished, .asked):
            return (.finished, .end)
        case (_, .failed), (_, .asked), (_, .arrived), (_, .read):
            return (.finished, .discard)
        }
    }
}
