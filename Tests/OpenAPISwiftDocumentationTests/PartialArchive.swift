import OpenAPISwiftRuntime

/// A service of which a page shows a part: every operation that it leaves out answers as `PartialService` does.
protocol PartialArchive: ContextualAPIProtocol where Context == Caller {}

private struct Nothing: PartialService {}

extension PartialArchive {
    func listSightings(
        _ input: Operations.ListSightings.Input,
        context: Caller
    ) async throws -> Operations.ListSightings.Output {
        try await Nothing().listSightings(input)
    }

    func addSighting(
        _ input: Operations.AddSighting.Input,
        context: Caller
    ) async throws -> Operations.AddSighting.Output {
        try await Nothing().addSighting(input)
    }

    func getSighting(
        _ input: Operations.GetSighting.Input,
        context: Caller
    ) async throws -> Operations.GetSighting.Output {
        try await Nothing().getSighting(input)
    }

    func removeSighting(
        _ input: Operations.RemoveSighting.Input,
        context: Caller
    ) async throws -> Operations.RemoveSighting.Output {
        try await Nothing().removeSighting(input)
    }

    func getSong(
        _ input: Operations.GetSong.Input,
        context: Caller
    ) async throws -> Operations.GetSong.Output {
        try await Nothing().getSong(input)
    }

    func putSong(
        _ input: Operations.PutSong.Input,
        context: Caller
    ) async throws -> Operations.PutSong.Output {
        try await Nothing().putSong(input)
    }

    func sendReport(
        _ input: Operations.SendReport.Input,
        context: Caller
    ) async throws -> Operations.SendReport.Output {
        try await Nothing().sendReport(input)
    }

    func watchSightings(
        _ input: Operations.WatchSightings.Input,
        context: Caller
    ) async throws -> Operations.WatchSightings.Output {
        try await Nothing().watchSightings(input)
    }

    func exportSightings(
        _ input: Operations.ExportSightings.Input,
        context: Caller
    ) async throws -> Operations.ExportSightings.Output {
        try await Nothing().exportSightings(input)
    }

    func logIn(
        _ input: Operations.LogIn.Input,
        context: Caller
    ) async throws -> Operations.LogIn.Output {
        try await Nothing().logIn(input)
    }
}
