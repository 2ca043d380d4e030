import ArgumentParser
import Foundation
import MistModels

/// Why a command ends: one line for people, and an exit code for scripts, as in `sysexits.h`.
struct CommandFailure: Error, CustomStringConvertible {
    /// The kinds of failures and their exit codes.
    enum Kind: Int32 {
        case failure = 1
        case usage = 64
        case data = 65
        case unavailable = 69
        case cannotWrite = 73
        case tryAgain = 75
        case permission = 77
    }

    var kind: Kind
    var description: String

    init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }

    /// Explains an error of the client.
    init(_ error: CloudKitError) {
        description = "\(error)"
        kind =
            switch error.code {
            case .invalidCredentials, .authenticationFailed, .authenticationRequired, .accessDenied: .permission
            case .invalidArgument, .badRequest, .decoding: .data
            default: error.isTransient ? .tryAgain : .failure
            }
    }
}

/// Runs a command. A failure is one line on standard error, and its exit code.
func explainingFailures(_ body: () async throws -> Void) async throws {
    let failure: CommandFailure
    do {
        return try await body()
    } catch let error as CommandFailure {
        failure = error
    } catch let error as CloudKitError {
        failure = CommandFailure(error)
    }
    FileHandle.standardError.write(Data("celestra: \(failure)\n".utf8))
    throw ExitCode(failure.kind.rawValue)
}

/// JSON for programs: keys in alphabetical order, times as in `2026-01-31T12:00:00Z`.
func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return String(decoding: try encoder.encode(value), as: UTF8.self)
}
