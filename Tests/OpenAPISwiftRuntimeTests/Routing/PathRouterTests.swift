import HTTPTypes
import OpenAPISwiftRuntime
import Testing

struct PathRouterTests {

    private func router(_ templates: String...) throws -> PathRouter<String> {
        var router = PathRouter<String>()
        for template in templates { try router.add(template, method: .get, template: template) }
        return router
    }

    /// The template that matched and its parameters, as text.
    private func match(_ router: PathRouter<String>, _ path: String, method: HTTPRequest.Method = .get) -> String {
        switch router.match(method, path) {
        case .found(let value, let template, let parameters):
            #expect(value == template)
            let text = parameters.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: "&")
            return text.isEmpty ? template : "\(template) \(text)"
        case .methodNotAllowed(let allowed): return "405 \(allowed.map(\.rawValue).joined(separator: ", "))"
        case .notFound: return "404"
        }
    }

    @Test func literalPathsMatchWholeSegments() throws {
        let router = try router("/", "/pets", "/pets/toys", "/pet")
        #expect(match(router, "/") == "/")
        #expect(match(router, "") == "/")
        #expect(match(router, "/pets") == "/pets")
        #expect(match(router, "/pets/") == "/pets")
        #expect(match(router, "/pets?a=/pets/toys#/") == "/pets")
        #expect(match(router, "/p%65ts/t%6Fys") == "/pets/toys")
        #expect(match(router, "/pet") == "/pet")
        for path in ["/pe", "/petss", "/pets//", "//pets", "/pets//toys", "/pets/toys/x", "/Pets", "/pets%"] {
            #expect(match(router, path) == "404", "\(path)")
        }
    }

    @Test func placeholdersAreDecodedAndNeverEmpty() throws {
        let router = try router("/pets/{petId}", "/pets/{id}/toys/{toy}")
        #expect(match(router, "/pets/a%2Fb%20c+d%252F%C3%A9") == "/pets/{petId} petId=a/b c+d%2Fé")
        #expect(match(router, "/pets/1/toys/ball?x=1") == "/pets/{id}/toys/{toy} id=1&toy=ball")
        #expect(match(router, "/pets/%zz%20%4") == "/pets/{petId} petId=%zz %4")
        #expect(match(router, "/pets/") == "404")
        #expect(match(router, "/pets//toys/ball") == "404")
    }

    @Test func placeholdersMayStandAnywhereInASegment() throws {
        let router = try router(
            "/files/{name}.json",
            "/files/{name}.{kind}",
            "/files/{name}",
            "/v{major}.{minor}-{tag}/x",
            "/items/{id}:archive"
        )
        #expect(match(router, "/files/a.json") == "/files/{name}.json name=a")
        #expect(match(router, "/files/a.b.json") == "/files/{name}.json name=a.b")
        #expect(match(router, "/files/a.b.c") == "/files/{name}.{kind} kind=b.c&name=a")
        #expect(match(router, "/files/.json") == "/files/{name} name=.json")
        #expect(match(router, "/files/a") == "/files/{name} name=a")
        #expect(match(router, "/v1.2-beta-3/x") == "/v{major}.{minor}-{tag}/x major=1&minor=2&tag=beta-3")
        #expect(match(router, "/v1.-b/x") == "404")
        #expect(match(router, "/items/7:archive") == "/items/{id}:archive id=7")
        #expect(match(router, "/items/7") == "404")
    }

    @Test func literalsGoFirstAndAWrongBranchIsLeft() throws {
        let router = try router("/a/{x}/c", "/a/b/d", "/{y}/b/e", "/a/{z}")
        #expect(match(router, "/a/b/c") == "/a/{x}/c x=b")
        #expect(match(router, "/a/b/d") == "/a/b/d")
        #expect(match(router, "/a/b/e") == "/{y}/b/e y=a")
        #expect(match(router, "/a/b") == "/a/{z} z=b")
        #expect(match(router, "/a/b/f") == "404")
    }

    @Test func aKnownPathTellsItsMethods() throws {
        var router = try router("/a/{x}")
        try router.add("/a/b", method: .post, template: "/a/b")
        try router.add("/a/{y}", method: .delete, template: "/a/{y}")
        #expect(match(router, "/a/b") == "/a/{x} x=b")
        #expect(match(router, "/a/b", method: .post) == "/a/b")
        #expect(match(router, "/a/b", method: .put) == "405 DELETE, GET, POST")
        #expect(match(router, "/a/c", method: .delete) == "/a/{y} y=c")
        #expect(match(router, "/a/c", method: .post) == "405 DELETE, GET")
        #expect(match(router, "/b", method: .post) == "404")
    }

    @Test(arguments: ["/a/{x", "/a/x}", "/{}", "/{x}{y}", "/{x}/{x}", "/{x{y}}", "/a{x}b}"])
    func aMalformedTemplateIsRefused(template: String) throws {
        let error = #expect(throws: RouteError.self) { try router(template) }
        #expect(error?.code == .malformedTemplate)
    }

    @Test(arguments: [("/a/{x}", "/a/{y}"), ("/a", "/a/"), ("/%61", "/a")])
    func aSecondHandlerForARouteIsRefused(first: String, second: String) throws {
        let error = #expect(throws: RouteError.self) { try router(first, second) }
        #expect(error?.code == .alreadyRegistered)
    }
}
