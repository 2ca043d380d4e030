import CloudKitRuleIDs
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Files: addresses to upload to, receipts, addresses to download from, re-references.
let assetRules: [ContractRule] = [
    ContractRule("assets/upload gives one address for each token, in order", [.archive]) { session in
        let zone = try await session.makeZone()
        let tokens: [JSONValue] = [
            ["recordName": "b", "recordType": .string(noteType), "fieldName": "photo"],
            ["recordName": "a", "recordType": .string(noteType), "fieldName": "cover"],
        ]
        try await session.post("assets/upload", session.uploads(tokens, in: zone), in: zone).expect(
            .including([
                "tokens": [
                    .including(["recordName": "b", "fieldName": "photo", "url": .address]),
                    .including(["recordName": "a", "fieldName": "cover", "url": .address]),
                ]
            ])
        )
    },
    ContractRule("a token without a record name gets one", [.archive]) { session in
        let zone = try await session.makeZone()
        let token: JSONValue = ["recordType": .string(noteType), "fieldName": "photo"]
        let reply = try await session.post("assets/upload", session.uploads([token, token], in: zone), in: zone)
        let first = try reply.text("tokens", "0", "recordName")
        try reply.expect(
            .including([
                "tokens": [.including(["url": .address]), .including(["recordName": .text(otherThan: first)])]
            ])
        )
    },
    ContractRule("a field of another type gets no address", [.peers, .unconfirmed]) { session in
        let zone = try await session.makeZone()
        try await session.save("a", ["title": "x"], in: zone)
        let token: JSONValue = ["recordName": "a", "recordType": .string(noteType), "fieldName": "title"]
        let reply = try await session.post("assets/upload", session.uploads([token], in: zone), in: zone)
        if reply.status == 200 {
            let failure = JSONPattern.including(["serverErrorCode": "BAD_REQUEST"], without: ["url"])
            try reply.expect(.including(["tokens": [failure]]))
        } else {
            try reply.expectError("BAD_REQUEST")
        }
    },
    ContractRule("more than 200 tokens are refused", [.archive]) { session in
        let zone = try await session.makeZone()
        let token: JSONValue = ["recordType": .string(noteType), "fieldName": "photo"]
        let most = [JSONValue](repeating: token, count: 200)
        let reply = try await session.post("assets/upload", session.uploads(most, in: zone), in: zone)
        try reply.require(reply.body?["tokens"]?.arrayValue?.count == 200, "200 tokens")
        let over = try await session.post("assets/upload", session.uploads(most + [token], in: zone), in: zone)
        try over.require((400..<500).contains(over.status), "a refusal")
    },
    ContractRule("an upload is answered with the dictionary to save", [.archive]) { session in
        let zone = try await session.makeZone()
        let reply = try await session.upload(picture, for: "photo", named: "a", in: zone)
        try reply.expect(
            .including([
                "singleFile": .including(
                    [
                        "fileChecksum": .base64(21), "receipt": .text, "size": .value(.integer(Int64(picture.count))),
                        "wrappingKey": .base64(16), "referenceChecksum": .base64(21),
                    ],
                    without: ["downloadURL"]
                )
            ])
        )
    },
    ContractRule("an upload to the public database has no keys", [.observed]) { session in
        let destination = Destination.publicDatabase(as: .user)
        let reply = try await session.upload(picture, for: "photo", named: session.unique("a"), in: destination)
        try reply.expect(
            .including([
                "singleFile": .including(
                    ["fileChecksum": .base64(21), "receipt": .text],
                    without: ["wrappingKey", "referenceChecksum"]
                )
            ])
        )
    },
    ContractRule("the same bytes have the same checksum", [.observed]) { session in
        let zone = try await session.makeZone()
        let first = try await session.upload(picture, for: "photo", named: "a", in: zone)
        let second = try await session.upload(picture, for: "photo", named: "b", in: zone)
        let checksum = try first.text("singleFile", "fileChecksum")
        try second.expect(.including(["singleFile": .including(["fileChecksum": .value(.string(checksum))])]))
        let other = try await session.upload([1, 2, 3], for: "photo", named: "c", in: zone)
        try other.expect(.including(["singleFile": .including(["fileChecksum": .text(otherThan: checksum)])]))
    },
    ContractRule(
        "every reply that shows a saved asset shows where to download it, and no receipt",
        [.recorded, .observed]
    ) {
        session in
        let zone = try await session.makeZone()
        let asset = try await session.uploaded(picture, for: "photo", named: "a", in: zone)
        let saved = try await session.modify([.create("a", ["photo": .typed(asset, "ASSETID")])], in: zone)
        let looked = try await session.lookup(["a"], in: zone)
        let found = try await session.query(in: zone)
        for reply in [saved, looked, found] {
            try reply.expectRecords([.including(["fields": .including(["photo": .asset(asset)])])])
        }
        let changes = try await session.changes(in: zone)
        let record = JSONPattern.including(["fields": .including(["photo": .asset(asset)])])
        try changes.expectZones([.including(["records": [record]])])
    },
    ContractRule("assets stand in lists, too", [.recorded, .observed]) { session in
        let zone = try await session.makeZone()
        let first = try await session.uploaded(picture, for: "album", named: "a", in: zone)
        let second = try await session.uploaded([1], for: "album", named: "a", in: zone)
        let album = Field.typed([first, second], "ASSETID_LIST")
        try await session.modify([.create("a", ["album": album])], in: zone).expectRecords([
            .including([
                "fields": .including([
                    "album": .including(["type": "ASSETID_LIST", "value": [.assetValue(first), .assetValue(second)]])
                ])
            ])
        ])
    },
    ContractRule("what is downloaded is what was uploaded, without credentials", [.recorded, .observed]) { session in
        let zone = try await session.makeZone()
        let url = try await session.savedAsset(picture, named: "a", in: zone)
        let whole = try await session.fetch(url)
        try whole.require(whole.status == 200 && whole.bytes == picture, "the \(picture.count) bytes")
        let head = try await session.fetch(url, method: .head)
        try head.require(
            head.status == 200 && head.bytes.isEmpty && head.headers[.contentLength] == "\(picture.count)",
            "the length alone"
        )
        let part = try await session.fetch(url, headers: [.range: "bytes=1000-1999"])
        try part.require(
            part.status == 206 && part.bytes == Array(picture[1000..<2000])
                && part.headers[.contentRange] == "bytes 1000-1999/\(picture.count)",
            "206 and the bytes from 1000 to 1999"
        )
        let rest = try await session.fetch(url, headers: [.range: "bytes=\(picture.count - 5)-"])
        try rest.require(rest.status == 206 && rest.bytes == picture.suffix(5), "206 and the last five bytes")
        let beyond = try await session.fetch(url, headers: [.range: "bytes=\(picture.count)-"])
        try beyond.require(beyond.status == 416, "416")
    },
    ContractRule("an upload may be a form, and what is downloaded is the file in it", [.liveTests]) { session in
        let zone = try await session.makeZone()
        let token: JSONValue = ["recordName": "a", "recordType": .string(noteType), "fieldName": "photo"]
        let ticket = try await session.post("assets/upload", session.uploads([token], in: zone), in: zone)
        let boundary = "contract" + session.ending
        let head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"files\"; filename=\"file\"\r\n\r\n"
        let file = try await session.fetch(
            try ticket.text("tokens", "0", "url"),
            method: .post,
            headers: [.contentType: "multipart/form-data; boundary=\(boundary)"],
            body: Array(head.utf8) + picture + Array("\r\n--\(boundary)--\r\n".utf8)
        )
        try file.expect(.including(["singleFile": .including(["size": .value(.integer(Int64(picture.count)))])]))
        let photo = Field.typed(file.body?["singleFile"] ?? .null, "ASSETID")
        let saved = try await session.modify([.create("a", ["photo": photo])], in: zone)
        let copy = try await session.fetch(try saved.text("records", "0", "fields", "photo", "value", "downloadURL"))
        try copy.require(copy.bytes == picture, "the \(picture.count) bytes")
    },
    ContractRule("the asset host refuses with a status alone", [.observed]) { session in
        let zone = try await session.makeZone()
        let url = try await session.savedAsset(picture, named: "a", in: zone)
        let tampered = try await session.fetch(url.dropLast(3) + "xxx")
        try tampered.require((400..<500).contains(tampered.status), "a refusal")
        try tampered.require(tampered.body?["serverErrorCode"] == nil, "no error dictionary")
    },
    ContractRule(.assetWithoutReceipt, "an asset that was read has no place in another record", [.observed]) {
        session in
        let zone = try await session.makeZone()
        _ = try await session.savedAsset(picture, named: "a", in: zone)
        let read = try await session.lookup(["a"], in: zone).body?["records"]?[0]?["fields"]?["photo"]?["value"]
        try await session.modify([.create("b", ["photo": .typed(read ?? .null, "ASSETID")])], in: zone)
            .expectRecords([.failure("b", "BAD_REQUEST")])
        try await session.lookup(["b"], in: zone).expectRecords([.failure("b", "NOT_FOUND")])
    },
    ContractRule(.assetOfAnotherField, "an asset is saved in the record and field that it was uploaded for", [.archive])
    { session in
        let zone = try await session.makeZone()
        let asset = Field.typed(try await session.uploaded(picture, for: "photo", named: "a", in: zone), "ASSETID")
        try await session.modify([.create("b", ["photo": asset])], in: zone)
            .expectRecords([.failure("b", "BAD_REQUEST")])
        try await session.modify([.create("a", ["cover": asset])], in: zone)
            .expectRecords([.failure("a", "BAD_REQUEST")])
        try await session.modify([.create("a", ["photo": asset])], in: zone).expectNames(["a"])
    },
    ContractRule("a file that was uploaded for a record without a name is saved in one without a name", [.cloudKitJS]) {
        session in
        let zone = try await session.makeZone()
        let asset = try await session.uploaded(picture, for: "photo", named: nil, in: zone)
        let saved = try await session.modify([.create(nil, ["photo": .typed(asset, "ASSETID")])], in: zone)
        let file = try await session.fetch(try saved.text("records", "0", "fields", "photo", "value", "downloadURL"))
        try file.require(file.bytes == picture, "the \(picture.count) bytes")
    },
    ContractRule("a record without a name takes the name that its upload got", [.inferred]) { session in
        let zone = try await session.makeZone()
        let token: JSONValue = ["recordType": .string(noteType), "fieldName": "photo"]
        let ticket = try await session.post("assets/upload", session.uploads([token], in: zone), in: zone)
        let file = try await session.fetch(try ticket.text("tokens", "0", "url"), method: .post, body: picture)
        let photo = Field.typed(file.body?["singleFile"] ?? .null, "ASSETID")
        try await session.modify([.create(nil, ["photo": photo])], in: zone)
            .expectNames([try ticket.text("tokens", "0", "recordName")])
    },
    ContractRule("a re-referenced asset goes into another record without its bytes", [.archive, .cloudKitJS]) {
        session in
        let zone = try await session.makeZone()
        _ = try await session.savedAsset(picture, named: "a", in: zone)
        let field: JSONValue = ["recordName": "a", "fieldName": "photo"]
        let body: JSONValue = ["zoneID": zone.zoneID ?? .null, "assets": [field]]
        let reply = try await session.post("assets/rereference", body, in: zone)
        try reply.expect(.including(["assets": [.including(["fileChecksum": .base64(21), "receipt": .text])]]))
        let asset = reply.body?["assets"]?[0] ?? .null
        let saved = try await session.modify([.create("b", ["cover": .typed(asset, "ASSETID")])], in: zone)
        let other = try saved.text("records", "0", "fields", "cover", "value", "downloadURL")
        let file = try await session.fetch(other)
        try file.require(file.bytes == picture, "the \(picture.count) bytes")
        // The file stays when the first record is deleted.
        _ = try await session.modify([.forceDelete("a")], in: zone)
        let kept = try await session.fetch(other)
        try kept.require(kept.bytes == picture, "the \(picture.count) bytes")
    },
    ContractRule("re-references are answered in order, missing records included", [.archive, .inferred]) { session in
        let zone = try await session.makeZone()
        _ = try await session.savedAsset(picture, named: "a", in: zone)
        let body: JSONValue = [
            "zoneID": zone.zoneID ?? .null,
            "assets": [
                ["recordName": "missing", "fieldName": "photo"], ["recordName": "a", "fieldName": "photo"],
                ["recordName": "a", "fieldName": "cover"],
            ],
        ]
        try await session.post("assets/rereference", body, in: zone).expect(
            .including([
                "assets": [
                    .including(["serverErrorCode": "NOT_FOUND"], without: ["receipt"]), .including(["receipt": .text]),
                    .including(["serverErrorCode": .text], without: ["receipt"]),
                ]
            ])
        )
    },
]

private let picture: [UInt8] = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 7) }

extension ContractSession {
    /// The body of assets/upload.
    fileprivate func uploads(_ tokens: [JSONValue], in destination: Destination) -> JSONValue {
        var body: [String: JSONValue] = ["tokens": .array(tokens)]
        body["zoneID"] = destination.zoneID
        return .object(body)
    }

    /// Uploads a file; the reply is that of the asset host.
    fileprivate func upload(
        _ bytes: [UInt8],
        for field: String,
        named name: String?,
        in destination: Destination
    ) async throws -> ContractReply {
        var token: [String: JSONValue] = ["recordType": .string(noteType), "fieldName": .string(field)]
        token["recordName"] = name.map(JSONValue.string)
        let reply = try await post("assets/upload", uploads([.object(token)], in: destination), in: destination)
        return try await fetch(try reply.text("tokens", "0", "url"), method: .post, body: bytes)
    }

    /// Uploads a file, and returns the value to save.
    fileprivate func uploaded(
        _ bytes: [UInt8],
        for field: String,
        named name: String?,
        in destination: Destination
    ) async throws -> JSONValue {
        let reply = try await upload(bytes, for: field, named: name, in: destination)
        try reply.expect(.including(["singleFile": .including(["receipt": .text])]))
        return reply.body?["singleFile"] ?? .null
    }

    /// Saves a new record with a file in its field `photo`, and returns the file's download address.
    fileprivate func savedAsset(_ bytes: [UInt8], named name: String, in destination: Destination) async throws
        -> String
    {
        let asset = try await uploaded(bytes, for: "photo", named: name, in: destination)
        let reply = try await modify([.create(name, ["photo": .typed(asset, "ASSETID")])], in: destination)
        return try reply.text("records", "0", "fields", "photo", "value", "downloadURL")
    }

    /// Sends a request to the asset host, without credentials.
    fileprivate func fetch(
        _ url: some StringProtocol,
        method: HTTPRequest.Method = .get,
        headers: HTTPFields = [:],
        body: [UInt8]? = nil
    ) async throws -> ContractReply {
        let text = String(url).replacing("${f}", with: "$%7Bf%7D")
        let start = text.firstRange(of: "://").map(\.upperBound) ?? text.startIndex
        let end = text[start...].firstIndex(of: "/") ?? text.endIndex
        let request = HTTPRequest(
            method: method,
            scheme: nil,
            authority: nil,
            path: String(text[end...]),
            headerFields: headers
        )
        let (response, responseBody) = try await target.transport.send(
            request,
            body: body.map { HTTPBody($0) },
            baseURL: URL(string: String(text[..<end])) ?? target.serverURL,
            operationID: "contract"
        )
        let bytes: [UInt8] =
            if let responseBody { try await Array(collecting: responseBody, upTo: 1 << 26) } else { [] }
        return ContractReply(
            request: "\(method) an address of the asset host",
            status: response.status.code,
            headers: response.headerFields,
            bytes: bytes,
            comparesReasons: target.comparesReasons
        )
    }
}

extension JSONPattern {
    fileprivate static let address = satisfying("an address") { $0.stringValue?.contains("://") == true }

    fileprivate static func base64(_ count: Int) -> JSONPattern {
        satisfying("base64 of \(count) bytes") { value in
            value.stringValue.flatMap { Data(base64Encoded: $0) }?.count == count
        }
    }

    /// A field of a reply with an asset that was saved.
    fileprivate static func asset(_ saved: JSONValue) -> JSONPattern {
        .including(["type": "ASSETID", "value": assetValue(saved)])
    }

    fileprivate static func assetValue(_ saved: JSONValue) -> JSONPattern {
        var members: [String: JSONPattern] = ["downloadURL": .address]
        for key in ["fileChecksum", "size", "wrappingKey", "referenceChecksum"] {
            members[key] = saved[key].map(JSONPattern.value)
        }
        return .including(members, without: ["receipt"])
    }
}
