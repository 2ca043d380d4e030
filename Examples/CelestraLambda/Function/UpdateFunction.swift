import CelestraUpdates
import Foundation
import LambdaRuntime
import Logging
import MistModels
import WebFetching

/// Celestra's update as a function: an event chooses feeds, the response says what came of them.
struct UpdateFunction: Sendable {
    let database: DatabaseProvider
    let logger: Logger
    /// How feeds are fetched.
    var fetching: FetchConfiguration
    /// What time it is.
    var now: @Sendable () -> Date = { Date() }
    /// What the time until the deadline is measured with.
    var timer: any Clock<Duration> = ContinuousClock()

    /// How long before the deadline the run has to be over, to send its report, in seconds.
    static let reserve = 3.0

    init(database: DatabaseProvider, userAgent: String, logger: Logger) {
        self.database = database
        self.logger = logger
        fetching = .celestra
        fetching.userAgent = userAgent
        // A host that needs longer has less time to spare than the function.
        fetching.timeLimit = .seconds(10)
    }

    /// Updates the feeds that an event chooses.
    ///
    /// Feeds that fail, and feeds that are left because the deadline is near, are in the response. It is an error of the function
    /// where no feed at all could be fetched, where CloudKit did not take everything, and where it refuses the credentials.
    ///
    /// - Parameter invocation: The event, and the time until the deadline.
    /// - Returns: An ``UpdateSummary`` as JSON.
    /// - Throws: A ``FunctionError``.
    func respond(to invocation: Invocation) async throws -> [UInt8] {
        let start = now()
        let event = try invocation.decode(UpdateEvent.self)
        let limit = RunTimeLimit(
            from: start,
            to: invocation.deadline.addingTimeInterval(-UpdateFunction.reserve)
        )
        do {
            let database = try await database.open()
            let report = try await withWebFetcher(fetching) { fetcher in
                var run = UpdateRun(database: database, fetcher: fetcher)
                run.timeLimit = limit
                run.now = now
                run.timer = timer
                return try await run.update(event.selection(at: start))
            }
            let summary = UpdateSummary(report)
            logger.info("\(invocation.requestID) \(summary.line)")
            if let error = UpdateFunction.error(of: report, summary: summary) { throw error }
            return try summary.json()
        } catch let error as CloudKitError {
            // A key that was replaced is fetched again with the next event.
            await database.forget()
            throw FunctionError(error)
        }
    }

    /// Why a run is an error of the function, or `nil`.
    static func error(of report: UpdateReport, summary: UpdateSummary) -> FunctionError? {
        if !report.isSaved {
            let reason = report.feeds.first { $0.outcome == .notSaved }?.reason ?? report.expiryFailure ?? ""
            return FunctionError("Celestra.NotSaved", "Not everything was saved. \(reason) (\(summary.line))")
        }
        let failed = report.count(.failed)
        guard failed > 0, failed == report.feeds.count - report.count(.postponed) - report.count(.outOfTime) else {
            return nil
        }
        let reason = report.feeds.first { $0.outcome == .failed }?.reason ?? ""
        return FunctionError("Celestra.Unavailable", "Every feed failed. The first reason: \(reason) (\(summary.line))")
    }
}

extension FunctionError {
    /// An error of CloudKit by what to do about it.
    init(_ error: CloudKitError) {
        let type =
            switch error.code {
            case .invalidCredentials, .authenticationFailed, .authenticationRequired, .accessDenied:
                "Celestra.Credentials"
            default: error.isTransient ? "Celestra.TryAgain" : "Celestra.CloudKit"
            }
        self.init(type, "\(error)")
    }
}

/// Opens the public database with the first event, and keeps it for those that follow.
///
/// Not before the first event: while Lambda prepares the program, the extension that has the key may not be ready.
actor DatabaseProvider {
    private let settings: FunctionSettings
    private let parameters: ParameterStore
    private let logger: Logger
    private var database: CloudKitDatabase?

    init(settings: FunctionSettings, parameters: ParameterStore, logger: Logger) {
        self.settings = settings
        self.parameters = parameters
        self.logger = logger
    }

    /// The database.
    ///
    /// - Throws: A ``FunctionError`` or a `CloudKitError` where the key cannot be fetched or read.
    func open() async throws -> CloudKitDatabase {
        if let database { return database }
        let pem =
            switch settings.privateKey {
            case .pem(let text): text
            case .parameter(let name): try await parameters.value(of: name)
            }
        // A run that is throttled for longer leaves the rest to the next one.
        var retryPolicy = RetryPolicy()
        retryPolicy.deadline = .seconds(20)
        let opened = try CloudKitService(
            containerIdentifier: settings.container,
            environment: settings.environment,
            keyID: settings.keyID,
            privateKeyPEM: pem,
            serverURL: settings.serverURL,
            retryPolicy: retryPolicy,
            logger: logger
        ).publicDatabase
        database = opened
        return opened
    }

    /// Forgets the key.
    func forget() {
        database = nil
    }
}
