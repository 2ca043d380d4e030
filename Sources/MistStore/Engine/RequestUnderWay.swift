import MistKit

/// The request under way.
extension EngineProcedure {
    /// Stores a request, and what it is about, as the one under way.
    func store(_ request: SyncRequest, _ content: RequestContent) throws -> RequestNumber {
        let number = try scopeState.nextRequestNumber()
        try requests.insert(request, content, number: number, at: now)
        return number
    }

    /// Gives up the request under way. Changes that it carried have an unknown outcome.
    func abandonRequest() throws {
        guard let request = try requests.underWay() else { return }
        if request.kind == .modify, let zone = request.zone {
            try endRequestOfUnknownOutcome(in: zone)
        } else {
            try requests.end()
        }
    }

    /// Ends the request under way, whose operations have an unknown outcome. They are not repeated before their zone
    /// has been read to its end.
    func endRequestOfUnknownOutcome(in zone: ZoneRowID) throws {
        try sentOperations.markUncertain(in: zone)
        try zones.markUncertain(zone)
        try requests.end()
    }
}
