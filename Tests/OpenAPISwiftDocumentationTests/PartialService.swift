import OpenAPISwiftRuntime

// The protocol is on the page "Testing", with one of its operations.

extension PartialService {
    func listSightings(_ input: Operations.ListSightings.Input) async throws -> Operations.ListSightings.Output {
        .default(statusCode: 501, .init(body: .json(.init(title: "not here"))))
    }

    func addSighting(_ input: Operations.AddSighting.Input) async throws -> Operations.AddSighting.Output {
        .undocumented(statusCode: 501, .init())
    }

    func removeSighting(_ input: Operations.RemoveSighting.Input) async throws -> Operations.RemoveSighting.Output {
        .undocumented(statusCode: 501, .init())
    }

    func getSong(_ input: Operations.GetSong.Input) async throws -> Operations.GetSong.Output {
        .undocumented(statusCode: 501, .init())
    }

    func putSong(_ input: Operations.PutSong.Input) async throws -> Operations.PutSong.Output {
        .undocumented(statusCode: 501, .init())
    }

    func sendReport(_ input: Operations.SendReport.Input) async throws -> Operations.SendReport.Output {
        .undocumented(statusCode: 501, .init())
    }

    func watchSightings(_ input: Operations.WatchSightings.Input) async throws -> Operations.WatchSightings.Output {
        .undocumented(statusCode: 501, .init())
    }

    func exportSightings(_ input: Operations.ExportSightings.Input) async throws -> Operations.ExportSightings.Output {
        .undocumented(statusCode: 501, .init())
    }

    func logIn(_ input: Operations.LogIn.Input) async throws -> Operations.LogIn.Output {
        .undocumented(statusCode: 501, .init())
    }
}
