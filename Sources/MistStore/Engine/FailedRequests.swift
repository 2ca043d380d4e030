import MistKit

/// Failures of whole requests.
extension RequestReply {
    /// Applies the failure of the request, and ends it.
    func apply(_ error: CloudKitError) throws {
        if request.kind == .modify, let zone = request.zone, error.mayHaveBeenDone || error.code == .outcomeUnknown {
            try endRequestOfUnknownOutcome(in: zone)
            return try restScope(because: error)
        }
        if error.code == .zoneNotFound, let zone = try zoneOfRequest() {
            // The zone was deleted meanwhile.
            try deletes.applyEnd(of: zone)
        } else {
            try applyRefusal(error)
        }
        try requests.end()
    }

    /// Applies the failure of a request that was not carried out.
    private func applyRefusal(_ error: CloudKitError) throws {
        switch request.kind {
        case .modify: try pushReply()?.apply(error)
        case .caller where try needsNoUser(error): transaction.userCheck.state = .passed(nil)
        case .query where [.badRequest, .notFound, .accessDenied].contains(error.code):
            try followedPage()?.endFailedPass(because: .schema, error)
        case .databaseChanges where error.mayConcernToken: try applyRefusedList(error)
        case .zoneChanges where error.mayConcernToken: try applyRefusedTokens(error)
        case .listing: try verification.apply(error, to: request)
        case .lookup:
            try postponeLookups(error)
            try restScope(because: error)
        case .caller, .query, .databaseChanges, .zoneChanges, .createZones: try restScope(because: error)
        }
    }

    /// Whether the failure to find out the user is no reason to send nothing: a file of the public database without an
    /// owner may be used without a user, for instance with a server-to-server key.
    private func needsNoUser(_ error: CloudKitError) throws -> Bool {
        try scope == .public && error.condition == .signedOut && fileState.owner == nil
    }

    /// Applies the refusal of a request for the list of changed zones.
    ///
    /// The token is sent no more. Without a token, the service lists the zones that exist, and not those that are gone.
    /// So each known zone is fetched. A second refusal in a row lets the scope rest.
    private func applyRefusedList(_ error: CloudKitError) throws {
        let state = try scopeState.row()
        guard state.token != nil else { return try restScope(because: error) }
        try scopeState.forgetToken()
        try zones.markAllStale()
        if state.failures > 0 { return try restScope(because: error) }
        try scopeState.noteFailure()
    }

    /// Applies the refusal of a request for changes: none of its tokens is sent again, because the error does not say
    /// which one it is about. A zone that was read from its start already rests.
    private func applyRefusedTokens(_ error: CloudKitError) throws {
        let fetched = try requests.zones().compactMap { try zones.fetch($0.zone) }
        let refused = fetched.filter { $0.token != nil }
        for zone in refused { try zones.beginRefetch(zone.id) }
        for zone in refused.isEmpty ? fetched : refused.filter(\.isRefetching) { try restZone(zone, because: error) }
    }

    /// Looks the records that could not be delivered up later, after a request for them failed as a whole.
    private func postponeLookups(_ error: CloudKitError) throws {
        guard let zone = try zoneOfRequest() else { return }
        for name in try requests.names() where try undelivered.contains(name, in: zone.id) {
            var failure = error
            failure.item = .record(name: name)
            try failures.note(name, failure, in: zone)
        }
    }
}

extension CloudKitError {
    /// Whether the service may have refused a request for changes because of its token: every refusal that is not of a
    /// moment, nor about the user. Then the changes are fetched without the token.
    fileprivate var mayConcernToken: Bool {
        guard retryAfter == nil else { return false }
        return switch code {
        case .throttled, .tryAgainLater, .zoneBusy, .internalError, .serviceUnavailable, .network, .cancelled,
            .misdirectedRequest, .unexpectedResponse, .decoding, .accessDenied, .authenticationRequired,
            .authenticationFailed, .zoneNotFound:
            false
        default: true
        }
    }
}
