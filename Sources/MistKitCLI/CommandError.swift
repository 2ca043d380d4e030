import CloudKitEmulator
import CloudKitMirror
import Foundation
import MistKit
import MistStore

/// Why a command ended without doing its work: one line on what is wrong, one line on what to do, and the exit code.
struct CommandError: Error, CustomStringConvertible {
    /// The exit codes of `mistkit`, numbered as in `sysexits.h` where that header has a code for the case.
    enum Code: Int32, CaseIterable, Sendable {
        /// The service refused, or an item of a batch failed.
        case failure = 1
        /// The command line or the settings are wrong.
        case usage = 64
        /// The input cannot be read, or a file cannot be used.
        case data = 65
        /// A port cannot be used, or another process changes the same data.
        case unavailable = 69
        /// A file cannot be written.
        case cannotWrite = 73
        /// The service cannot be reached, is busy, or failed. The same command may work later.
        case tryAgain = 75
        /// The credentials are missing, wrong or not enough.
        case permission = 77

        /// What the code means, for the manual.
        var meaning: String {
            switch self {
            case .failure: "The service refused the request, or an item of a batch failed."
            case .usage: "The command line or the settings are wrong."
            case .data: "The input cannot be read, or a file cannot be used."
            case .unavailable: "A port cannot be used, or another process changes the same data."
            case .cannotWrite: "A file cannot be written."
            case .tryAgain: "The service cannot be reached, is busy, or failed; the same command may work later."
            case .permission: "The credentials are missing, wrong, or lack a permission."
            }
        }

        /// All codes with their meanings, one on each line.
        static var list: String {
            allCases.map { "  \($0.rawValue) - \($0.meaning)" }.joined(separator: "\n")
        }
    }

    var code: Code
    var message: String
    /// What a report to the service's support needs: its words, the code and the number of the request. Empty for an
    /// error of the command itself.
    var details = ""
    var remedy: String

    /// Both lines, for the argument parser, which turns errors of `validate()` into text.
    var description: String { "\(statement(in: .plain))\n\(remedy)" }

    /// The message on one line, with the details in brackets at its end.
    func statement(in style: TextStyle) -> String {
        Self.onOneLine(message) + (details.isEmpty ? "" : " " + style.grey("[\(Self.onOneLine(details))]"))
    }

    /// What standard error shows: two lines.
    func text(in style: TextStyle) -> String {
        "mistkit: \(statement(in: style))\n  \(Self.onOneLine(remedy))"
    }

    private static func onOneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
    }
}

extension CommandError {
    /// A mistake on the command line.
    ///
    /// - Parameters:
    ///   - message: The parser's message: one line, or two where the second says what to do.
    ///   - help: The command that prints help, such as `mistkit records query --help`.
    init(commandLine message: String, help: String) {
        let lines = message.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: true).map(String.init)
        let first = lines.first ?? "The command line cannot be read"
        self.init(
            code: .usage,
            message: first.hasSuffix(".") || first.hasSuffix("?") ? first : first + ".",
            remedy: lines.count == 2 ? lines[1] : "`\(help)` lists the arguments and options."
        )
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
            code: .cannotWrite,
            message: "The file \(path) cannot be written: \(reason(of: error)).",
            remedy: "Check the path and its permissions."
        )
    }

    /// An error that is neither a command's nor the client's.
    init(unexpected error: any Error) {
        self.init(
            code: .failure,
            message: "\(Self.reason(of: error)).",
            remedy: "Run the command with --verbose to see the requests that were sent."
        )
    }

    /// The cause of an error in the words of the operating system or the emulator, without types and error domains.
    static func reason(of error: any Error) -> String {
        if let error = error as? EmulatorError { return error.reason }
        if let number = systemError(of: error) { return String(cString: strerror(number)) }
        let cause = cause(of: error)
        return cause.domain == NSCocoaErrorDomain
            ? "the system refuses it (error \(cause.code) of Foundation)" : cause.localizedDescription
    }

    /// The number of the operating system's error behind an error; `nil` for another kind of error.
    private static func systemError(of error: any Error) -> Int32? {
        // An error of a socket prints its number.
        if let match = "\(error)".firstMatch(of: /errno: (\d+)/), let number = Int32(match.1) { return number }
        let cause = cause(of: error)
        if cause.domain == NSPOSIXErrorDomain { return Int32(cause.code) }
        guard cause.domain == NSCocoaErrorDomain else { return nil }
        // Foundation on Linux has no texts for most of its errors.
        return switch CocoaError.Code(rawValue: cause.code) {
        case .fileNoSuchFile, .fileReadNoSuchFile: ENOENT
        case .fileReadNoPermission, .fileWriteNoPermission: EACCES
        case .fileWriteFileExists: EEXIST
        case .fileWriteOutOfSpace: ENOSPC
        case .fileWriteVolumeReadOnly: EROFS
        case .fileReadInvalidFileName, .fileWriteInvalidFileName: ENAMETOOLONG
        case .fileReadTooLarge: EFBIG
        default: nil
        }
    }

    private static func cause(of error: any Error) -> NSError {
        let error = error as NSError
        return (error.userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError } ?? error
    }

    /// Whether an error says that a file or a folder may not be written.
    static func meansUnwritable(_ error: any Error) -> Bool {
        systemError(of: error).map([EACCES, EPERM, EROFS, ENOSPC].contains) ?? false
    }

    /// The store's error in the words of the command line.
    init(_ error: StoreError) {
        let (code, remedy): (Code, String) =
            switch error.code {
            case .notAStore, .noStore: (.data, "Check the path of the folder.")
            case .newerFormat: (.data, "Use the version of mistkit that belongs to the program.")
            case .needsUpdate:
                (.data, "Start the program of the store, built with the version of MistStore that mistkit has.")
            case .otherUser: (.permission, "Sign in as the owner of the records, or name another file with --user.")
            case .otherService: (.usage, "Name the service of the program: --server-url, or its credentials.")
            case .keyMissing, .wrongKey: (.permission, "Name a file with the key of the program: --key-file.")
            case .query: (.usage, "`mistkit store sql --help` has examples.")
            case .busy:
                (
                    .unavailable,
                    "Run the command again. If that does not help, another process holds a transaction open."
                )
            case .full, .readOnly:
                (.cannotWrite, "Check the folder of the store, its permissions and the space on the disk.")
            default: (.data, "Check the folder of the store, its permissions and the space on the disk.")
            }
        self.init(code: code, message: error.description, remedy: remedy)
    }

    /// A mirror's error in the words of the command line.
    init(_ error: MirrorError) {
        let (code, remedy): (Code, String) =
            switch error.code {
            case .notAMirror: (.data, "Name a new file, or one that `mistkit mirror` made.")
            case .otherVersion: (.data, "Use that version, or name a new file.")
            case .otherDatabase:
                (.usage, "Name another file, or the container, the environment and the database of this one.")
            case .otherUser: (.usage, "Name another file, or sign in as that user.")
            case .changedMeanwhile, .busy:
                (.unavailable, "Run the command again; one run at a time can write a mirror.")
            case .refusedToken: (.failure, "Run the command again later.")
            case .unwritable: (.cannotWrite, "Check the path, its permissions and the space on the disk.")
            case .unreadable: (.data, "Check the path and its permissions.")
            default: (.data, "Check the path, its permissions and the space on the disk.")
            }
        self.init(code: code, message: error.message, remedy: remedy)
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
            default: error.isTransient ? .tryAgain : .failure
            }
        message = Self.message(of: error)
        details = Self.details(of: error)
        remedy = Self.remedy(for: error)
    }

    /// What a person can do about a failure.
    static func remedy(for error: CloudKitError) -> String {
        if missingType(in: error) != nil {
            return """
                In development, the first record that is saved creates its type; production gets it with `mistkit schema deploy`. \
                `mistkit records types` lists the types.
                """
        }
        if error.code == .badRequest, case .zone? = error.item {
            return "A zone name has 1 to 255 ASCII characters, and does not begin with an underscore."
        }
        if let remedy = remedy(forSubscription: error) { return remedy }
        if error.reason?.hasSuffix("in production schema") == true {
            return
                "Deploy the schema from development: `mistkit schema deploy`, or the CloudKit console for Apple's service."
        }
        if let url = error.redirectURL {
            return
                "Run `mistkit auth sign-in`, or sign in at \(url) and set MISTKIT_WEB_AUTH_TOKEN to the token that comes back."
        }
        switch error.code {
        case .authenticationRequired: return "Run `mistkit auth sign-in`."
        case .authenticationFailed, .invalidCredentials, .signing:
            return
                "Check the token or the key, and its container and environment: `mistkit auth status` prints the settings."
        case .accessDenied:
            return "Use credentials that have the permission; `mistkit auth status` prints as whom the command acts."
        case .signInFailed:
            return "Run `mistkit auth sign-in` again; --no-browser prints the address instead of opening it."
        case .tokenStorage: return "Check the permissions of the data folder, or name another one with --data-folder."
        case .network: return "Check the connection, and the address in --server-url or MISTKIT_SERVER_URL."
        case .serviceUnavailable, .throttled, .tryAgainLater, .zoneBusy, .internalError:
            return "Run the command again later."
        case .conflict:
            return
                "Look at the record, and run the command again on it; `mistkit records update --force` overwrites it."
        case .notFound: return "Check the name, and the container, database and zone in which it is looked up."
        case .zoneNotFound:
            return "Check the name with `mistkit zones list`, or create the zone with `mistkit zones create`."
        case .exists: return "Choose another name, or change the existing record with `mistkit records update`."
        case .changeTokenExpired:
            return "Leave out the token, or remove the token file, to begin with the whole history."
        case .quotaExceeded: return "Delete records that are not needed, or get more storage for the account."
        case .localData: return "Check the path of the file and its permissions."
        case .outcomeUnknown, .cancelled:
            return "Look at the records before you run the command again: some may be changed."
        case .invalidArgument, .badRequest, .limitExceeded, .validatingReferenceError, .uniqueFieldError, .atomicError:
            return "Correct the record, the query or the options; --verbose logs the request."
        default: return "Run the command with --verbose to see the request that failed."
        }
    }

    /// What to do about an error of a subscription, where it differs from that of records.
    private static func remedy(forSubscription error: CloudKitError) -> String? {
        guard case .subscription? = error.item else { return nil }
        switch error.code {
        case .notFound: return "`mistkit subscriptions list` prints the subscriptions of the database."
        case .exists, .conflict: return "Choose another name, or delete it first with `mistkit subscriptions delete`."
        case .badRequest:
            return "Correct the record type, the conditions or the zone; a query needs fields that are queryable."
        default: return nil
        }
    }

    /// The record type of a query that the container does not have yet.
    private static func missingType(in error: CloudKitError) -> String? {
        let prefix = "Did not find record type: "
        guard let reason = error.reason, reason.hasPrefix(prefix) else { return nil }
        return String(reason.dropFirst(prefix.count))
    }

    /// The failed item, where there is one, and the message.
    private static func message(of error: CloudKitError) -> String {
        let cause = cause(of: error)
        return switch error.item {
        case .record(let name): "Record \(name): \(cause)"
        case .zone(let name): "Zone \(name): \(cause)"
        case .subscription(let id): "Subscription \(id): \(cause)"
        case .user(let lookup): "User \(lookup): \(cause)"
        case .share(let shortGUID): "Share \(shortGUID): \(cause)"
        case nil: cause
        }
    }

    /// The message without the advice for programs, which names functions of the client. The remedy is the command's own.
    private static func cause(of error: CloudKitError) -> String {
        if let type = missingType(in: error) { return "The container has no record type \(type) yet." }
        switch error.code {
        case .authenticationRequired: return "A user must sign in."
        case .conflict, .exists, .atomicError:
            let end = error.message.range(of: ". ")?.lowerBound
            let cause = withoutAdvice(end.map { String(error.message[..<$0]) + "." } ?? error.message)
            return cause + (error.mayHaveBeenDone ? " An earlier attempt may have changed the record." : "")
        default: return withoutAdvice(error.message)
        }
    }

    /// A message of the client without the sentences that name its functions, which no user of the command can call.
    static func withoutAdvice(_ message: String) -> String {
        let symbol = #/[A-Za-z_]\w*\((?:[A-Za-z_]\w*:)+\)|\b[a-z]\w*\(\)|``|\b(?:atomic|duplicates): /#
        guard message.contains(symbol) else { return message }
        func without(_ separator: String, _ text: String, _ end: String) -> String? {
            let parts = text.components(separatedBy: separator).filter { !$0.contains(symbol) }
            guard !parts.isEmpty else { return nil }
            let joined = parts.joined(separator: separator)
            return joined.hasSuffix(".") ? joined : joined + end
        }
        return without(". ", message, ".") ?? without("; ", message, ".") ?? without(", ", message, ".")
            ?? "The request cannot be sent as it is."
    }

    /// The service's own words, the code and the number of the request.
    private static func details(of error: CloudKitError) -> String {
        var details: [String] = []
        if let reason = error.reason { details.append("\"\(reason)\"") }
        details.append(error.code.description)
        if let uuid = error.requestUUID { details.append("request \(uuid)") }
        return details.joined(separator: ", ")
    }
}
