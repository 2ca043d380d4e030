import Foundation
import MistModels

/// Why a command fails: one line for people, and an exit code of `sysexits.h` for scripts.
package struct CommandFailure: Error, CustomStringConvertible {
    /// The kinds of failures and their exit codes.
    package enum Kind: Int32 {
        case failure = 1
        case usage = 64
        case data = 65
        case unavailable = 69
        case cannotWrite = 73
        case tryAgain = 75
        case permission = 77
    }

    package var kind: Kind
    package var description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// Explains an error of the client.
    package init(_ error: CloudKitError) {
        description = "\(error)"
        kind =
            switch error.code {
            case .invalidCredentials, .authenticationFailed, .authenticationRequired, .accessDenied: .permission
            case .invalidArgument, .badRequest, .decoding: .data
            default: error.isTransient ? .tryAgain : .failure
            }
    }
}
