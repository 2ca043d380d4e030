import CloudKitEmulator
import Foundation
import MistKit

/// Why a command ended without doing its work: a sentence on what was wrong, a sentence on what to do, and the exit code.
struct CommandError: Error {
    /// The exit codes of `mistkit`, numbered as in `sysexits.h` where that has one.
    enum Code: Int32, Sendable {
        /// The service refused, or an item of a batch failed.
        case failure = 1
        /// The command line or the settings are wrong.
        case usage = 64
        /// The data that was given cannot be read.
        case data = 65
        /// The service cannot be reached, or asks to come back later.
        case unavailable = 69
        /// The credentials are missing, wrong or not enough.
        case permission = 77
    }

    var code: Code
    var message: String
    var remedy: String?

    /// What standard error shows.
    var text: String {
        "mistkit: \(message)" + (remedy.map { "\n  \($0)" } ?? "")
    }
}

extension CommandError {
    /// A file that cannot be read.
    static func unreadable(_ path: String) -> CommandError {
        CommandError(
            code: .data,
            message: "The file \(path) cannot be read.",
            remedy: "Check the path and its permissions."
        )
    }

    /// A file that cannot be written.
    static func unwritable(_ path: String, _ error: any Error) -> CommandError {
        CommandError(
            code: .data,
            message: "The file \(path) cannot be written: \(reason(of: error)).",
            remedy: "Check the path and its permissions."
        )
    }

    /// What went wrong underneath, in the words of the operating system or the emulator, without types and domains.
    static func reason(of error: any Error) -> String {
        if let error = error as? EmulatorError { return error.reason }
        let error = error as NSError
        let cause = (error.userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError } ?? error
        guard cause.domain == NSPOSIXErrorDomain else { return cause.localizedDescription }
        return String(cString: strerror(Int32(cause.code)))
    }

    /// The client's error in the words of the command line.
    init(_ error: CloudKitError) {
        code =
            switch error.code {
            case .invalidArgument: .usage
            case .authenticationFailed, .authenticationRequired, .accessDenied, .invalidCredentials, .signing,
                .signInFailed, .tokenStorage:
                .permission
            case .localData: .data
            case .network, .serviceUnavailable, .throttled, .tryAgainLater, .zoneBusy: .unavailable
            default: .failure
            }
        message = Self.describe(error)
        remedy = error.redirectURL.map {
            """
            `mistkit auth sign-in` asks a person. Or sign in at \($0), and set MISTKIT_WEB_AUTH_TOKEN to the token that comes back.
            """
        }
    }

    /// An item's failure on one line: what it is about, the message, the service's own words and its code.
    static func describe(_ error: CloudKitError) -> String {
        var text = error.message
        switch error.item {
        case .record(let name): text = "Record \(name): \(text)"
        case .zone(let name): text = "Zone \(name): \(text)"
        case .subscription(let id): text = "Subscription \(id): \(text)"
        case .user(let lookup): text = "User \(lookup): \(text)"
        case .share(let shortGUID): text = "Share \(shortGUID): \(text)"
        case nil: break
        }
        var details: [String] = []
        if let reason = error.reason { details.append("\"\(reason)\"") }
        details.append(error.code.description)
        if let uuid = error.requestUUID { details.append("request \(uuid)") }
        text += " [" + details.joined(separator: ", ") + "]"
        if error.reason?.hasSuffix("in production schema") == true {
            text +=
                " Deploy the schema from development: `mistkit schema deploy`, or the CloudKit console for Apple's service."
        }
        return text
    }
}
