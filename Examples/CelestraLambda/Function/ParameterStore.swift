import AsyncHTTPClient
import Foundation
import LambdaRuntime
import NIOCore
import NIOHTTP1

/// Systems Manager Parameter Store, through the AWS Parameters and Secrets Lambda Extension: a process beside the
/// function that signs the request and answers on the loopback interface.
///
/// ```swift
/// let pem = try await ParameterStore(environment: environment).value(of: "/celestra/private-key")
/// // GET http://localhost:2773/systemsmanager/parameters/get?name=%2Fcelestra%2Fprivate-key&withDecryption=true
/// // X-Aws-Parameters-Secrets-Token: the value of AWS_SESSION_TOKEN
/// ```
struct ParameterStore: Sendable {
    private let address: String
    private let token: String
    private let timer: any Clock<Duration>

    /// How often a request is sent while the extension does not listen or says that it is not ready, and the pause
    /// between two requests.
    static let attemptLimit = 20
    static let pause = Duration.milliseconds(100)

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - environment: The environment of the process: `PARAMETERS_SECRETS_EXTENSION_HTTP_PORT`, 2773 without it, and
    ///     `AWS_SESSION_TOKEN`.
    ///   - timer: The clock of the pauses.
    init(environment: [String: String], timer: any Clock<Duration> = ContinuousClock()) {
        address = "http://localhost:\(environment["PARAMETERS_SECRETS_EXTENSION_HTTP_PORT"] ?? "2773")"
        token = environment["AWS_SESSION_TOKEN"] ?? ""
        self.timer = timer
    }

    /// Fetches the decrypted value of a parameter.
    ///
    /// While Lambda starts, the extension may not listen yet, or may refuse requests with the words "not ready to serve
    /// traffic". Then the request is sent again.
    ///
    /// - Parameter name: The parameter.
    /// - Returns: The value.
    /// - Throws: A ``FunctionError`` of the type `Celestra.Parameter`, which never contains the value, or
    ///   `CancellationError`.
    func value(of name: String) async throws -> String {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        // The loop below retries by itself.
        configuration.connectionPool.retryConnectionEstablishment = false
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        do {
            let value = try await value(of: name, client: client)
            try await client.shutdown()
            return value
        } catch {
            try? await client.shutdown()
            throw error
        }
    }

    private func value(of name: String, client: HTTPClient) async throws -> String {
        var attempt = 1
        while true {
            switch try await reply(about: name, client: client) {
            case .success(let body): return try value(in: body, of: name)
            case .failure(let failure):
                guard attempt < ParameterStore.attemptLimit else { throw failure }
                attempt += 1
                try await timer.sleep(for: ParameterStore.pause)
            }
        }
    }

    /// Sends one request. A failure that may be over in a moment is returned; any other failure is thrown.
    private func reply(about name: String, client: HTTPClient) async throws -> Result<[UInt8], FunctionError> {
        let (status, body): (Int, [UInt8])
        do {
            (status, body) = try await send(name, client: client)
        } catch let error as FunctionError {
            throw error
        } catch {
            try Task.checkCancellation()
            let message = """
                The AWS Parameters and Secrets Lambda Extension does not answer at \(address): \(error). Add its layer to the \
                function.
                """
            return .failure(FunctionError("Celestra.Parameter", message))
        }
        guard status != 200 else { return .success(body) }
        let text = String(decoding: body.prefix(300), as: UTF8.self)
        let failure = FunctionError(
            "Celestra.Parameter",
            "The parameter \(name) cannot be read: status \(status), \(text). The parameter must exist, and the role of the function needs "
                + "ssm:GetParameter on it and kms:Decrypt on its key."
        )
        guard text.contains("not ready") else { throw failure }
        return .failure(failure)
    }

    private func send(_ name: String, client: HTTPClient) async throws -> (status: Int, body: [UInt8]) {
        let allowed = CharacterSet(charactersIn: "-._~").union(.alphanumerics)
        guard let escaped = name.addingPercentEncoding(withAllowedCharacters: allowed) else {
            throw FunctionError("Celestra.Parameter", "\"\(name)\" is not the name of a parameter.")
        }
        var request = HTTPClientRequest(
            url: "\(address)/systemsmanager/parameters/get?name=\(escaped)&withDecryption=true"
        )
        request.headers.add(name: "X-Aws-Parameters-Secrets-Token", value: token)
        let response = try await client.execute(request, timeout: .seconds(10))
        let body = try await response.body.collect(upTo: 64 * 1024)
        return (Int(response.status.code), Array(body.readableBytesView))
    }

    private func value(in body: [UInt8], of name: String) throws -> String {
        struct Reply: Decodable {
            struct Parameter: Decodable {
                var value: String

                enum CodingKeys: String, CodingKey { case value = "Value" }
            }
            var parameter: Parameter

            enum CodingKeys: String, CodingKey { case parameter = "Parameter" }
        }
        // The error of the decoder may quote the body, which has the key.
        guard let reply = try? JSONDecoder().decode(Reply.self, from: Data(body)), !reply.parameter.value.isEmpty else {
            throw FunctionError(
                "Celestra.Parameter",
                "The reply about the parameter \(name) has no Parameter.Value. Check the port: it must be that of the extension."
            )
        }
        return reply.parameter.value
    }
}
