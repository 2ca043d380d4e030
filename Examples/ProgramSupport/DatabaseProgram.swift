import ArgumentParser
import CloudKitSchema
import Foundation
import MistModels
import WebFetching

/// A program that keeps what it fetches from the web in the public database of a container.
///
/// Its commands read the connection from ``ServiceOptions`` and the limits of requests from ``FetchOptions``.
package protocol DatabaseProgram: ParsableCommand {
    /// The name of the command. It is in error lines, and in the names of the embedded emulator's folder and container.
    static var programName: String { get }
    /// How the program sends requests to hosts, unless options say otherwise.
    static var fetching: FetchConfiguration { get }
    /// The schema that the program's records need.
    static func schema() throws -> ContainerSchema
}

extension DatabaseProgram {
    /// Runs a command. A failure is one line on standard error, and its exit code.
    package static func explainingFailures(_ body: () async throws -> Void) async throws {
        let failure: CommandFailure
        do {
            return try await body()
        } catch let error as CommandFailure {
            failure = error
        } catch let error as CloudKitError {
            failure = CommandFailure(error)
        }
        FileHandle.standardError.write(Data("\(programName): \(failure)\n".utf8))
        throw ExitCode(failure.kind.rawValue)
    }
}
