import Foundation
import HTTPTypes
import MistKit
import OpenAPISwiftRuntime
import TestSupport

/// A service over a fake transport.
func fakeService(
    _ transport: FakeTransport,
    retryPolicy: RetryPolicy = .never
) -> CloudKitService {
    var configuration = CloudKitService.Configuration(transport: transport, logger: RecordedLog().logger())
    configuration.retryPolicy = retryPolicy
    return CloudKitService(
        containerIdentifier: "iCloud.com.example.app",
        apiToken: String(repeating: "a0", count: 32),
        configuration: configuration
    )
}

extension FakeTransport {
    /// Responds to each request with JSON, in order. The last response is repeated.
    convenience init(json answers: String...) {
        self.init(answers.map { reply(.ok, $0) })
    }

    /// The requests, as `METHOD entity/action {body}`, with sorted keys in the body.
    var requests: [String] {
        get throws {
            try sent.map { exchange in
                let path = exchange.request.path?.prefix { $0 != "?" } ?? ""
                let action = path.split(separator: "/").dropFirst(4).joined(separator: "/")
                let body = exchange.body.isEmpty ? "" : " " + (try sortedJSON(exchange.json))
                return "\(exchange.request.method) \(action)\(body)"
            }
        }
    }
}

/// JSON with sorted keys and no white space.
func sortedJSON(_ text: String) throws -> String {
    let value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    let data = try JSONSerialization.data(
        withJSONObject: value,
        options: [.sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed]
    )
    return String(decoding: data, as: UTF8.self)
}

/// An error in one line; `ok`, or the description, for a success.
func summary<Success>(
    _ result: Result<Success, CloudKitError>,
    _ describe: (Success) -> String = { _ in "ok" }
) -> String {
    switch result {
    case .success(let value): return describe(value)
    case .failure(let error):
        switch error.item {
        case .record(let name), .zone(let name): return "\(error.code) \(name)"
        case .subscription(let id), .user(let id), .share(let id): return "\(error.code) \(id)"
        case nil: return "\(error.code)"
        }
    }
}

/// The error that a call throws.
func failure<Success>(_ body: () async throws -> Success) async throws -> CloudKitError {
    do {
        _ = try await body()
    } catch let error as CloudKitError {
        return error
    }
    throw UnexpectedSuccess()
}
