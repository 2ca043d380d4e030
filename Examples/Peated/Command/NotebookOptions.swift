import ArgumentParser
import Foundation
import MistMutationQueue
import OpenAPISwiftAsyncHTTPClient
import Peated
import PeatedOffline

/// The folder of this machine.
struct NotebookOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The folder of this program; ~/.peated without it.", valueName: "folder"))
    var folder: String?

    @Option(help: ArgumentHelp("The most bytes of pictures that are kept.", valueName: "bytes"))
    var pictureLimit: Int64 = 50_000_000

    func validate() throws {
        guard pictureLimit >= 0 else { throw ValidationError("--picture-limit is not negative.") }
    }

    var accounts: Accounts {
        Accounts(folder: folder.map { URL(filePath: $0) } ?? .homeDirectory.appending(path: ".peated"))
    }

    var settings: Notebook.Settings {
        var settings = Notebook.Settings()
        settings.pictureLimit = pictureLimit
        return settings
    }

    /// Runs a command with the notebook of the user who is signed in.
    func withNotebook(_ body: (Notebook) async throws -> Void) async throws {
        try await explainingFailures {
            guard let account = try accounts.current() else { throw CommandFailure.signedOut }
            try await body(
                Notebook(account, in: accounts, transport: AsyncHTTPClientTransport(), settings: settings)
            )
        }
    }
}

/// Why a command fails: a line for people, and an exit code of `sysexits.h` for scripts.
struct CommandFailure: Error {
    var code: Int32
    var message: String

    static var signedOut: CommandFailure {
        CommandFailure(code: 77, message: "No user is signed in. Try: peated sign-in ada@example.com")
    }

    init(code: Int32, message: String) {
        self.code = code
        self.message = message
    }

    init(_ error: any Error) {
        switch error {
        case let error as CommandFailure: self = error
        case PeatedError.unauthorized(let message):
            self.init(code: 77, message: "\(message) Try: peated sign-in ada@example.com")
        case let error as PeatedError:
            switch error {
            case .network, .server: self.init(code: 75, message: error.sentence)
            default: self.init(code: 1, message: error.sentence)
            }
        case let error as NotebookError: self.init(code: 64, message: error.description)
        case let error as MutationQueueError: self.init(code: 1, message: error.message)
        case is CancellationError: self.init(code: 130, message: "Cancelled.")
        default: self.init(code: 1, message: error.localizedDescription)
        }
    }
}

/// Runs a command. A failure is one line on standard error, and its exit code.
func explainingFailures(_ body: () async throws -> Void) async throws {
    do {
        try await body()
    } catch {
        let failure = CommandFailure(error)
        printError("peated: \(failure.message)")
        throw ExitCode(failure.code)
    }
}

func printError(_ line: String) {
    FileHandle.standardError.write(Data("\(line)\n".utf8))
}

extension Notebook {
    /// Sends what can be sent now, and shows how far pictures are.
    @discardableResult
    func sendShowingProgress() async throws -> MutationDrain {
        let reports = uploadReports()
        let progress = Task {
            for await report in reports where report.size > 0 {
                printError("picture \(report.digest.prefix(8)): \(report.received / 1024) of \(report.size / 1024) KB")
            }
        }
        defer { progress.cancel() }
        return try await send()
    }

    /// Sends what can be sent now, with the progress of pictures, and prints what is left.
    ///
    /// - Parameter isAsked: Whether the user asked for it: then it also waits for the next tries of the coming half
    ///   minute, and prints a summary in any case.
    /// - Throws: An error about the file. What the service refuses is printed.
    func sendAndReport(isAsked: Bool = false) async throws {
        var drain = try await sendShowingProgress()
        var sent = drain.sent
        let end = Date().addingTimeInterval(30)
        while isAsked, drain.status.pause == nil, let next = drain.status.nextAttempt, next < end {
            printError(NotebookLines.summary(drain.status, now: Date()))
            try await Task.sleep(for: .seconds(max(next.timeIntervalSinceNow, 0)))
            drain = try await sendShowingProgress()
            sent += drain.sent
        }
        if sent > 0 { print("\(sent) sent") }
        for mutation in try await mutations() where mutation.state == .failed {
            let reason = mutation.lastError ?? ""
            print("\(mutation.id.rawValue.prefix(8))  \(NotebookLines.name(mutation.mutation))  failed: \(reason)")
        }
        if isAsked || !drain.status.isEmpty { print(NotebookLines.summary(drain.status, now: Date())) }
    }
}
