import CelestraUpdates
import Foundation
import LambdaRuntime
import Logging
import MistModels
import WebFetching

/// Celestra's update as a function: an event selects feeds, and the response reports their outcomes.
struct UpdateFunction: Sendable {
    let database: DatabaseProvider
    let logger: Logger
    /// The configuration with which feeds are fetched.
    var fetching: FetchConfiguration
    /// Returns the current time.
    var now: @Sendable () -> Date = { Date() }
    /// The clock that measures the time until the deadline.
    var timer: any Clock<Duration> = ContinuousClock()

    /// How many seconds before the deadline the run has to be over, so that its report can be sent.
    static let reserve = 3.0

    init(database: DatabaseProvider, userAgent: String, logger: Logger) {
        self.database = database
        self.logger = logger
        fetching = .celestra
        fetching.userAgent = userAgent
        // The function cannot wait as long for a slow host as a program without a deadline.
        fetching.timeLimit = .seconds(10)
    }

    /// Updates the feeds that an event selects.
    ///
    /// The response lists feeds that fail, and feeds that are left because the deadline is near. The function fails
    /// if no feed at all could be fetched, if CloudKit did not save everything, or if a call of CloudKit fails,
    /// for instance with refused credentials.
    ///
    /// - Parameter invocation: The event, and its deadline.
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
            // The next event fetches the key again, in case it was replaced.
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
    /// Chooses the type by what an operator can do about the error.
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

/// Opens the public database at the first event, and keeps it for the following events.
///
/// It does not open the database earlier: while Lambda prepares the program, the extension that has the key may not be
/// ready.
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
        // A run that is throttled for longer leaves the remaining feeds to the next run.
        var retryPolicy = RetryPolicy()
        retryPolicy.deadline = .seconds(20)
        var configuration = CloudKitService.Configuration(serverURL: settings.serverURL, logger: logger)
        configuration.retryPolicy = retryPolicy
        let opened = try CloudKitService(
            containerIdentifier: settings.container,
            environment: settings.environment,
            keyID: settings.keyID,
            privateKeyPEM: pem,
            configuration: configuration
        ).publicDatabase
        database = opened
        return opened
    }

    /// Forgets the database and its key, so that the next event opens it again.
    func forget() {
        database = nil
    }
}
