import Spelling

/// Finds the keys of a document that are neither known nor extensions.
///
/// Such a key has no effect, so a spelling mistake loses what is below it: `requestbody` is an operation without a body.
struct KeyChecker {
    let diagnostics: Diagnostics

    /// Warns of each such key, from the top of the document to its end.
    func check(_ root: DocumentNode) {
        check(root, as: .document)
    }

    /// What the value of a key holds.
    private indirect enum Value: Sendable {
        /// Something whose keys are not OpenAPI's: a scalar, an example, the requirements of security.
        case any
        case object(Kind)
        case list(Value)
        /// An object whose keys are names of the document's author.
        case map(Value)
    }

    private enum Kind: String {
        case document, info, contact, license, server
        case serverVariable = "server variable"
        case components
        case pathItem = "path item"
        case operation, parameter, header
        case requestBody = "request body"
        case mediaType = "media type"
        case encoding, response, example, link, tag
        case externalDocs = "external documentation"
        case securityScheme = "security scheme"
        case flows, flow, schema, discriminator, xml
    }

    private func check(_ node: DocumentNode, as kind: Kind) {
        guard let fields = KeyChecker.fields[kind] else { return }
        for member in node.members ?? [] {
            if let value = fields[member.key] {
                check(member.value, as: value)
            } else if !member.key.hasPrefix("x-"), kind != .document || member.key != "swagger" {
                let remedy = NearestName.question(about: member.key, among: fields.keys.sorted())
                diagnostics.warn(
                    "The key '\(member.key)' is not known in \(article(kind)) \(kind.rawValue), and has no effect.",
                    at: member.value.position,
                    remedy: remedy ?? "the name of an extension begins with 'x-'"
                )
            }
        }
    }

    private func article(_ kind: Kind) -> String {
        switch kind {
        case .operation, .encoding, .example, .externalDocs, .info, .xml: "an"
        default: "a"
        }
    }

    private func check(_ node: DocumentNode, as value: Value) {
        switch value {
        case .any: break
        case .object(let kind): check(node, as: kind)
        case .list(let element):
            for node in node.elements ?? [] { check(node, as: element) }
        case .map(let element):
            for member in node.members ?? [] where !member.key.hasPrefix("x-") { check(member.value, as: element) }
        }
    }

    // MARK: The keys of OpenAPI 3.0 to 3.2

    private static let fields: [Kind: [String: Value]] = [
        .document: fields(
            "openapi $self jsonSchemaDialect security",
            [
                "info": .object(.info), "servers": .list(.object(.server)), "paths": .map(.object(.pathItem)),
                "webhooks": .map(.object(.pathItem)), "components": .object(.components), "tags": .list(.object(.tag)),
                "externalDocs": .object(.externalDocs),
            ]
        ),
        .info: fields(
            "title summary description termsOfService version",
            ["contact": .object(.contact), "license": .object(.license)]
        ),
        .contact: fields("name url email"),
        .license: fields("name identifier url"),
        .server: fields("url description name", ["variables": .map(.object(.serverVariable))]),
        .serverVariable: fields("enum default description"),
        .components: [
            "schemas": .map(.object(.schema)), "responses": .map(.object(.response)),
            "parameters": .map(.object(.parameter)), "examples": .map(.object(.example)),
            "requestBodies": .map(.object(.requestBody)), "headers": .map(.object(.header)),
            "securitySchemes": .map(.object(.securityScheme)), "links": .map(.object(.link)),
            "callbacks": .map(.map(.object(.pathItem))), "pathItems": .map(.object(.pathItem)),
            "mediaTypes": .map(.object(.mediaType)),
        ],
        .pathItem: fields(
            "$ref summary description",
            [
                "additionalOperations": .map(.object(.operation)), "servers": .list(.object(.server)),
                "parameters": .list(.object(.parameter)),
            ].merging(PathItemMethods.all.map { ($0, .object(.operation)) }) { known, _ in known }
        ),
        .operation: fields(
            "tags summary description operationId deprecated security",
            [
                "externalDocs": .object(.externalDocs), "parameters": .list(.object(.parameter)),
                "requestBody": .object(.requestBody), "responses": .map(.object(.response)),
                "callbacks": .map(.map(.object(.pathItem))), "servers": .list(.object(.server)),
            ]
        ),
        .parameter: fields("name in allowEmptyValue \(headerKeys)", headerFields),
        .header: fields(headerKeys, headerFields),
        .requestBody: fields("$ref summary description required", ["content": .map(.object(.mediaType))]),
        .mediaType: fields(
            "$ref summary description example",
            [
                "schema": .object(.schema), "itemSchema": .object(.schema), "examples": .map(.object(.example)),
                "encoding": .map(.object(.encoding)), "prefixEncoding": .list(.object(.encoding)),
                "itemEncoding": .object(.encoding),
            ]
        ),
        .encoding: fields(
            "contentType style explode allowReserved",
            [
                "headers": .map(.object(.header)), "encoding": .map(.object(.encoding)),
                "prefixEncoding": .list(.object(.encoding)), "itemEncoding": .object(.encoding),
            ]
        ),
        .response: fields(
            "$ref summary description",
            [
                "headers": .map(.object(.header)), "content": .map(.object(.mediaType)),
                "links": .map(.object(.link)),
            ]
        ),
        .example: fields("$ref summary description value externalValue dataValue serializedValue"),
        .link: fields(
            "$ref summary operationRef operationId parameters requestBody description",
            ["server": .object(.server)]
        ),
        .tag: fields("name summary description parent kind", ["externalDocs": .object(.externalDocs)]),
        .externalDocs: fields("description url"),
        .securityScheme: fields(
            "$ref summary type description name in scheme bearerFormat openIdConnectUrl oauth2MetadataUrl deprecated",
            ["flows": .object(.flows)]
        ),
        .flows: [
            "implicit": .object(.flow), "password": .object(.flow), "clientCredentials": .object(.flow),
            "authorizationCode": .object(.flow), "deviceAuthorization": .object(.flow),
        ],
        .flow: fields("authorizationUrl deviceAuthorizationUrl tokenUrl refreshUrl scopes"),
        .schema: fields(
            """
            $ref $id $schema $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor $comment $vocabulary \
            type enum const format title description summary default deprecated readOnly writeOnly example examples nullable \
            multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems minItems \
            uniqueItems maxContains minContains maxProperties minProperties required dependentRequired contentEncoding \
            contentMediaType
            """,
            [
                "properties": .map(.object(.schema)), "patternProperties": .map(.object(.schema)),
                "dependentSchemas": .map(.object(.schema)), "$defs": .map(.object(.schema)),
                "definitions": .map(.object(.schema)), "dependencies": .any, "additionalProperties": .object(.schema),
                "unevaluatedProperties": .object(.schema), "propertyNames": .object(.schema), "items": .object(.schema),
                "additionalItems": .object(.schema), "unevaluatedItems": .object(.schema), "contains": .object(.schema),
                "prefixItems": .list(.object(.schema)), "allOf": .list(.object(.schema)),
                "anyOf": .list(.object(.schema)), "oneOf": .list(.object(.schema)), "not": .object(.schema),
                "if": .object(.schema), "then": .object(.schema), "else": .object(.schema),
                "contentSchema": .object(.schema), "discriminator": .object(.discriminator), "xml": .object(.xml),
                "externalDocs": .object(.externalDocs),
            ]
        ),
        .discriminator: fields("propertyName mapping defaultMapping"),
        .xml: fields("name namespace prefix attribute wrapped nodeType"),
    ]

    private static let headerKeys = "$ref summary description required deprecated style explode allowReserved example"

    private static let headerFields: [String: Value] = [
        "schema": .object(.schema), "examples": .map(.object(.example)), "content": .map(.object(.mediaType)),
    ]

    /// The fields without further keys, and those with some.
    private static func fields(_ keys: String, _ others: [String: Value] = [:]) -> [String: Value] {
        var result = others
        for key in keys.split(separator: " ") { result[String(key)] = .any }
        return result
    }
}
