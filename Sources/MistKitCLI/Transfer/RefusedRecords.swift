import MistKit

extension CloudKitError {
    /// Whether the service refused this one record, and would refuse it again, so that an import counts its line as
    /// failed.
    ///
    /// All other errors end an import, and the next run sends the record again: the service did not answer, did not
    /// get the record, or would refuse every other record for the same cause, such as a full storage.
    var refusesOneRecord: Bool {
        // An item that is not sent because of an earlier request has the code of that request, and no attempts.
        guard item != nil, attempts > 0, !mayHaveBeenDone, isRefusedByService else { return false }
        // The error of a whole request has its status; that of a request with one record may be about the record.
        return httpStatus == nil || isAboutItem
    }

    /// Whether this one file cannot be read or was refused, so that an import counts the line of its record as failed.
    var refusesOneFile: Bool {
        code == .localData || code == .invalidArgument || isRefusedByService && !mayHaveBeenDone
    }

    private var isRefusedByService: Bool {
        switch code {
        case .throttled, .tryAgainLater, .zoneBusy, .authenticationFailed, .authenticationRequired, .quotaExceeded,
            .zoneNotFound:
            false
        default: code.serverErrorCode != nil
        }
    }
}
