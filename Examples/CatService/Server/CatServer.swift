import CatServiceAPI
import Hummingbird
import OpenAPISwiftHummingbird
import OpenAPISwiftRuntime

@main
enum CatServer {
    static func main() async throws {
        let app = Application(router: try router(), configuration: .init(address: .hostname("127.0.0.1", port: 8080)))
        try await app.runService()
    }

    /// A router with the operations of the document below `/api`, and with a route that is not in the document.
    static func router(_ cats: CatHandlers = CatHandlers()) throws -> Router<BasicRequestContext> {
        let router = Router()
        let transport = HummingbirdTransport(router)
        try cats.registerHandlers(
            on: transport,
            serverURL: Servers.Server1.url(),
            middlewares: [ErrorHandlingMiddleware()]
        )
        router.get("health") { _, _ in HTTPResponse.Status.ok }
        return router
    }
}
