import HTTPTypes
import Hummingbird
import HummingbirdTesting
import LambdaRuntime
import MistTesting
import NIOCore
import Synchronization
import Testing

@testable import CelestraLambda

/// Fetching the private key from the extension beside the function.
struct ParameterStoreTests {
    /// Serves an extension that sends the replies in order. Returns the requests, each with its path, query and token.
    static func withExtension(
        _ replies: [(status: Int, body: String)],
        _ body: @Sendable ([String: String]) async throws -> Void
    ) async throws -> [String] {
        let requests = Mutex<[String]>([])
        let router = Router()
        router.get("systemsmanager/parameters/get") { request, _ in
            let token = HTTPField.Name("X-Aws-Parameters-Secrets-Token").flatMap { request.headers[$0] }
            let index = requests.withLock { requests in
                requests.append("\(request.uri) \(token ?? "-")")
                return min(requests.count, replies.count) - 1
            }
            return Response(
                status: .init(code: replies[index].status),
                body: ResponseBody(byteBuffer: ByteBuffer(string: replies[index].body))
            )
        }
        try await Application(router: router).test(.live) { client in
            try await body([
                "PARAMETERS_SECRETS_EXTENSION_HTTP_PORT": "\(client.port ?? 0)", "AWS_SESSION_TOKEN": "token-1",
            ])
        }
        return requests.withLock { $0 }
    }

    private let clock = TestClock(skippingWaits: true)

    @Test func theValueIsFetchedDecrypted() async throws {
        let reply =
            "{\"Parameter\": {\"Name\": \"/celestra/key\", \"Value\": \"PEM\", \"Version\": 1}, \"ResultMetadata\": {}}"
        let requests = try await ParameterStoreTests.withExtension([(200, reply)]) { environment in
            let value = try await ParameterStore(environment: environment).value(of: "/celestra/ké y&x")
            #expect(value == "PEM")
        }
        let path = "/systemsmanager/parameters/get?name=%2Fcelestra%2Fk%C3%A9%20y%26x&withDecryption=true"
        #expect(requests == ["\(path) token-1"])
    }

    @Test func anExtensionThatIsNotReadyIsAskedAgain() async throws {
        let notReady = (status: 400, body: "not ready to serve traffic, please wait")
        let reply = (status: 200, body: "{\"Parameter\": {\"Value\": \"PEM\"}}")
        var requests = try await ParameterStoreTests.withExtension([notReady, notReady, reply]) { environment in
            let value = try await ParameterStore(environment: environment, timer: clock.timer).value(of: "key")
            #expect(value == "PEM")
        }
        #expect(requests.count == 3)
        requests = try await ParameterStoreTests.withExtension([notReady]) { environment in
            let error = await #expect(throws: FunctionError.self) {
                try await ParameterStore(environment: environment, timer: clock.timer).value(of: "key")
            }
            #expect(error?.message.contains("status 400, not ready to serve traffic") == true)
        }
        #expect(requests.count == ParameterStore.attemptLimit)
    }

    @Test func aRefusalSaysWhichPermissionsAreNeeded() async throws {
        let refusal = (status: 400, body: "AccessDeniedException")
        let requests = try await ParameterStoreTests.withExtension([refusal]) { environment in
            let error = await #expect(throws: FunctionError.self) {
                try await ParameterStore(environment: environment).value(of: "key")
            }
            #expect(error?.type == "Celestra.Parameter")
            #expect(
                error?.message.hasPrefix("The parameter key cannot be read: status 400, AccessDeniedException.") == true
            )
        }
        #expect(requests.count == 1)
    }

    @Test func aReplyOfAnotherFormIsNotQuoted() async throws {
        for body in ["{\"Parameter\": \"SECRET\"}", "SECRET", "", "{\"Parameter\": {\"Value\": \"\"}}"] {
            _ = try await ParameterStoreTests.withExtension([(200, body)]) { environment in
                let error = await #expect(throws: FunctionError.self) {
                    try await ParameterStore(environment: environment).value(of: "key")
                }
                #expect(error?.message.contains("SECRET") == false)
                #expect(error?.message.contains("has no Parameter.Value") == true)
            }
        }
    }

    @Test func withoutTheExtensionTheErrorNamesItsLayer() async throws {
        let error = await #expect(throws: FunctionError.self) {
            // Nothing listens at port 1.
            let environment = ["PARAMETERS_SECRETS_EXTENSION_HTTP_PORT": "1"]
            return try await ParameterStore(environment: environment, timer: clock.timer).value(of: "key")
        }
        #expect(error?.message.contains("Lambda Extension does not answer at http://localhost:1:") == true)
        #expect(error?.message.hasSuffix("Add its layer to the function.") == true)
        #expect(clock.waits.count == ParameterStore.attemptLimit - 1)
    }
}
