import Foundation
import HTTPTypes
import OpenAPISwiftRuntime

/// The same call, written without a generator: `Codable` types, Foundation's coders, and the transport itself.
enum HandWritten {
    struct Order: Codable, Sendable {
        var customer: String
        var note: String?
        var isGift: Bool?
        var lines: [Line]
    }

    struct Line: Codable, Sendable {
        var article: String
        var count: Int
        var price: Double
        var remark: String?
    }

    struct Receipt: Codable, Sendable {
        var number: Int
        var total: Double
        var order: Order
    }

    struct Failure: Error {}

    /// Registers the handler of the operation.
    static func registerHandler(on transport: InProcessTransport) throws {
        try transport.register(
            { (request: HTTPRequest, body: HTTPBody?, metadata: ServerRequestMetadata) in
                guard let body, let shop = metadata.pathParameters["shop"],
                    request.headerFields[.contentType]?.hasPrefix("application/json") == true
                else { return (HTTPResponse(status: .badRequest), nil) }
                let components = URLComponents(string: request.path ?? "")
                let isExpress = components?.queryItems?.first { $0.name == "express" }?.value == "true"
                let order = try JSONDecoder().decode(Order.self, from: try await Data(collecting: body, upTo: 1 << 20))
                let total = order.lines.reduce(isExpress ? 5 : 0) { $0 + Double($1.count) * $1.price }
                let receipt = Receipt(number: shop.utf8.count, total: total, order: order)
                return (
                    HTTPResponse(status: .created, headerFields: [.contentType: "application/json"]),
                    HTTPBody([UInt8](try JSONEncoder().encode(receipt)))
                )
            },
            method: .post,
            path: "/shops/{shop}/orders"
        )
    }

    /// Places an order.
    static func placeOrder(
        _ order: Order,
        shop: String,
        express: Bool,
        over transport: InProcessTransport,
        at server: URL
    ) async throws -> Receipt {
        guard let segment = shop.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) else { throw Failure() }
        let request = HTTPRequest(
            method: .post,
            scheme: nil,
            authority: nil,
            path: "/shops/\(segment)/orders?express=\(express)",
            headerFields: [.contentType: "application/json", .accept: "application/json"]
        )
        let (response, body) = try await transport.send(
            request,
            body: HTTPBody([UInt8](try JSONEncoder().encode(order))),
            baseURL: server,
            operationID: "placeOrder"
        )
        guard response.status == .created, let body else { throw Failure() }
        return try JSONDecoder().decode(Receipt.self, from: try await Data(collecting: body, upTo: 1 << 20))
    }
}
