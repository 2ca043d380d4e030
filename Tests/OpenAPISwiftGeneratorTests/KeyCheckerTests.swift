import OpenAPISwiftGenerator
import Testing

/// The keys of a document that are neither known nor extensions.
struct KeyCheckerTests {
    @Test func unknownKeysAreReportedOnRequest() {
        let document = """
            openapi: 3.1.0
            info: {title: Test, version: "1", x-more: {a: 1}}
            pahts: {}
            paths:
              /a:
                post:
                  operationID: a
                  requestbody: {}
                  parameters: [{name: q, in: query, schema: {type: string, exmaple: x}}]
                  responses: {'200': {description: Fine., content: {text/plain: {schema: {$ref: '#/components/schemas/A'}}}}}
                  x-any: {thing: 1}
            components:
              schemas:
                A: {type: object, properties: {typ: {typ: string}}, default: {free: 1}, mininum: 3, zzzz: 1}
            """
        var generator = Generator(configuration: GeneratorConfiguration(modes: [.types]))
        func warnings() -> [String] {
            generator.generate(from: [UInt8](document.utf8), named: "a.yaml").diagnostics.map(\.description)
        }
        #expect(warnings() == [])
        generator.checksKeys = true
        #expect(
            warnings() == [
                "a.yaml:3:8: warning: The key 'pahts' is not known in a document, and has no effect. (did you mean 'paths'?)",
                "a.yaml:7:20: warning: The key 'operationID' is not known in an operation, and has no effect. "
                    + "(did you mean 'operationId'?)",
                "a.yaml:8:20: warning: The key 'requestbody' is not known in an operation, and has no effect. "
                    + "(did you mean 'requestBody'?)",
                "a.yaml:9:73: warning: The key 'exmaple' is not known in a schema, and has no effect. "
                    + "(did you mean 'example'?)",
                "a.yaml:14:47: warning: The key 'typ' is not known in a schema, and has no effect. (did you mean 'type'?)",
                "a.yaml:14:86: warning: The key 'mininum' is not known in a schema, and has no effect. "
                    + "(did you mean 'minimum'?)",
                "a.yaml:14:95: warning: The key 'zzzz' is not known in a schema, and has no effect. "
                    + "(the name of an extension begins with 'x-')",
            ]
        )
    }
}
