import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitModel
import HTTPTypes
import Logging
import OpenAPISwiftRuntime
import ServiceLifecycle
import StreamingJSON

/// The operations of the document about requests and events.
extension AdministrationHandlers {
    func listRequests(
        _ input: Operations.ListRequests.Input,
        context: AdministrationHost
    ) throws -> Operations.ListRequests.Output {
        let limit = input.query.limit ?? .max
        guard limit > 0 else {
            throw AdministrationFailure(.badRequest, .invalidRequest, "The value of 'limit' is less than 1.")
        }
        let (total, entries) = context.server.requestLog?.latest(limit) ?? (0, [])
        return .ok(.init(body: .json(.init(total: total, requests: entries.map(\.summary)))))
    }

    func fetchRequest(
        _ input: Operations.FetchRequest.Input,
        context: AdministrationHost
    ) throws -> Operations.FetchRequest.Output {
        .ok(.init(body: .json(try context.details(of: context.entry(input.path.number)))))
    }

    func replayRequest(
        _ input: Operations.ReplayRequest.Input,
        context: AdministrationHost
    ) async throws -> Operations.ReplayRequest.Output {
        let entry = try context.entry(input.path.number)
        guard entry.isEndpoint, let caller = entry.trace.contents.caller else {
            throw AdministrationFailure(
                .conflict,
                .refused,
                "Request \(entry.number) has no caller of CloudKit Web Services, so it cannot be sent again."
            )
        }
        guard entry.request.method == .get || entry.bodies?.request != nil else {
            throw AdministrationFailure(.conflict, .refused, "The body of request \(entry.number) is no longer kept.")
        }
        // The secret of the start stands for the credentials, which may have expired or be used up.
        var request = entry.request
        request.headerFields[.actAs] = caller.identity
        request.headerFields[.authorization] = "Bearer \(context.administration.secret.revealDigits())"
        for name in [HTTPField.Name.cookie, .origin, .secFetchSite] { request.headerFields[name] = nil }
        let body = entry.bodies?.request.map { HTTPBody($0) }
        let (response, _) = try await context.server.respond(to: request, body: body)
        guard let number = response.headerFields[.loggedRequest].flatMap({ Int($0) }) else {
            throw AdministrationFailure(.conflict, .refused, "A fault rule broke the request that was sent again.")
        }
        return .ok(.init(body: .json(try context.details(of: context.entry(number)))))
    }

    func streamEvents(
        _ input: Operations.StreamEvents.Input,
        context: AdministrationHost
    ) throws -> Operations.StreamEvents.Output {
        let server = context.server
        // The first look comes before the first event: what happens after it is told.
        var seen = ChangeWatch()
        _ = try seen.changes(of: server.emulator)
        let (stream, continuation) = server.events.listen()
        continuation.yield(EmulatorEvent.hello.bytes[...])
        let watch = Task { [seen] in
            // A stream has no end of its own, so it ends when the server stops.
            try? await cancelWhenGracefulShutdown { try await server.watchChanges(since: seen, for: continuation) }
            continuation.finish()
        }
        let forget = continuation.onTermination
        continuation.onTermination = { reason in
            forget?(reason)
            watch.cancel()
        }
        return .ok(.init(body: .textEventStream(HTTPBody(stream, length: .unknown, iterationBehavior: .single))))
    }
}

extension CloudKitEmulatorServer {
    /// How often a stream looks for changes.
    static let changeInterval = Duration.milliseconds(200)
    /// How often a stream says that it is alive, in looks for changes: every 15 seconds.
    private static let looksPerSign = 75

    /// Sends the changes of records to one stream, until the task is cancelled.
    fileprivate func watchChanges(since seen: ChangeWatch, for listener: EventHub.Stream.Continuation) async throws {
        var (watch, looks) = (seen, 0)
        while true {
            try await ContinuousClock().sleep(for: Self.changeInterval)
            do {
                for change in try watch.changes(of: emulator) {
                    listener.yield(EmulatorEvent.change(.init(change)).bytes[...])
                }
            } catch let error as EmulatorError {
                // The next look may succeed: another process can hold the file.
                configuration.logger.warning("changes cannot be read", metadata: ["error": "\(error)"])
            }
            looks += 1
            if looks.isMultiple(of: Self.looksPerSign) { listener.yield(ArraySlice(":\n\n".utf8)) }
        }
    }
}

extension Components.Schemas.ZoneChange {
    fileprivate init(_ change: WatchedChange) {
        self.init(
            container: change.zone.container,
            environment: .init(change.zone.environment),
            database: change.zone.owner == nil ? ._public : ._private,
            ownerRecordName: change.zone.owner,
            zoneName: change.zone.zoneName,
            saved: change.saved,
            deleted: change.deleted,
            isZoneDeleted: change.zone.isDeleted,
            changes: change.zone.sequence
        )
    }
}

extension Components.Schemas.Environment {
    init(_ environment: ContainerEnvironment) {
        self = environment == .production ? .production : .development
    }
}

extension AdministrationHost {
    fileprivate func entry(_ number: Int) throws(AdministrationFailure) -> RequestLog.Entry {
        if let entry = server.requestLog?.entry(number) { return entry }
        throw AdministrationFailure(.notFound, .notFound, "Request \(number) is not in the log, or no longer.")
    }

    fileprivate func details(of entry: RequestLog.Entry) throws -> Components.Schemas.LoggedRequest {
        entry.details(refusals: try RefusalExplanation(entry, server.emulator)?.refusals() ?? [])
    }
}
