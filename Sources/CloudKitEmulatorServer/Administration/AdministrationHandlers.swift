import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitModel
import CloudKitSchema
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The operations of `OpenAPI/emulator.yaml`, answered by an emulator's rules.
///
/// Each handler passes the parts of a request on, and returns the parts of the reply. ``AdministrationFailure`` turns
/// errors into responses.
struct AdministrationHandlers: ContextualAPIProtocol {
    // MARK: The start

    func fetchStart(
        _ input: Operations.FetchStart.Input,
        context: AdministrationHost
    ) throws -> Operations.FetchStart.Output {
        let server = context.server
        let storage: Components.Schemas.Storage =
            switch server.emulator.storage {
            case .memory: .init(kind: .memory)
            case .file(let path): .init(kind: .file, path: path)
            }
        let start = Components.Schemas.Start(
            version: context.administration.version,
            address: context.address,
            container: context.administration.container,
            startedTimestamp: server.started.milliseconds,
            storage: storage,
            switches: .init(additionalProperties: server.emulator.configuration.switches)
        )
        return .ok(.init(body: .json(start)))
    }

    // MARK: The schema

    func exportSchema(
        _ input: Operations.ExportSchema.Input,
        context: AdministrationHost
    ) throws -> Operations.ExportSchema.Output {
        let container = try Self.checked(input.path.container)
        let schema = try context.emulator.schema(of: container, in: .init(input.path.environment))
        return .ok(.init(body: .plainText(HTTPBody(schema.description))))
    }

    func importSchema(
        _ input: Operations.ImportSchema.Input,
        context: AdministrationHost
    ) async throws -> Operations.ImportSchema.Output {
        let container = try Self.checked(input.path.container)
        guard input.path.environment == .development else {
            throw AdministrationFailure(
                .conflict,
                .refused,
                "Production gets its schema by a deployment: import the schema into development, and deploy it."
            )
        }
        let comparison = try context.emulator.importSchema(await Self.schema(in: input.body), into: container)
        context.server.events.send { .schema(of: container) }
        return .ok(.init(body: .json(.init(comparison))))
    }

    func validateSchema(
        _ input: Operations.ValidateSchema.Input,
        context: AdministrationHost
    ) async throws -> Operations.ValidateSchema.Output {
        let container = try Self.checked(input.path.container)
        let schema = try await Self.schema(in: input.body)
        let environment = ContainerEnvironment(input.path.environment)
        let comparison = SchemaComparison(from: try context.emulator.schema(of: container, in: environment), to: schema)
        var obstacle: String?
        if environment == .development {
            do throws(EmulatorError) {
                try context.emulator.checkImport(of: schema, into: container)
            } catch {
                guard error.serverErrorCode == .badRequest else { throw error }
                obstacle = error.reason
            }
        } else if !comparison.refused.isEmpty {
            obstacle = comparison.refused.map(\.description).joined(separator: "; ")
        }
        let changes = Components.Schemas.SchemaChanges(comparison).changes
        return .ok(.init(body: .json(.init(changes: changes, obstacle: obstacle))))
    }

    func deploySchema(
        _ input: Operations.DeploySchema.Input,
        context: AdministrationHost
    ) throws -> Operations.DeploySchema.Output {
        let container = try Self.checked(input.path.container)
        let comparison = try context.emulator.deploySchema(of: container)
        context.server.events.send { .schema(of: container) }
        return .ok(.init(body: .json(.init(comparison))))
    }

    func resetSchema(
        _ input: Operations.ResetSchema.Input,
        context: AdministrationHost
    ) throws -> Operations.ResetSchema.Output {
        let container = try Self.checked(input.path.container)
        try Self.check(input.body, deletes: .development, of: container)
        let comparison = try context.emulator.resetSchema(of: container)
        context.server.events.send { .restored }
        return .ok(.init(body: .json(.init(comparison))))
    }

    private static func schema(in body: Components.RequestBodies.SchemaText) async throws -> ContainerSchema {
        // The server has limited the body already.
        let bytes = try await [UInt8](collecting: body.plainText, upTo: .max)
        guard let text = String(bytes: bytes, encoding: .utf8) else {
            throw AdministrationFailure(.badRequest, .invalidSchema, "The schema is not text in UTF-8.")
        }
        let document: SchemaDocument
        do {
            document = try SchemaDocument(parsing: text)
        } catch let error as SchemaSyntaxError {
            throw AdministrationFailure(error)
        }
        let problems = document.problems()
        guard problems.isEmpty else { throw AdministrationFailure(problems) }
        return document.schema
    }

    // MARK: The contents

    func countRecords(
        _ input: Operations.CountRecords.Input,
        context: AdministrationHost
    ) throws -> Operations.CountRecords.Output {
        let counts = try context.emulator.recordCounts().map { count in
            Components.Schemas.RecordCount(
                container: count.container,
                environment: count.environment == .production ? .production : .development,
                database: count.owner == nil ? ._public : ._private,
                ownerRecordName: count.owner,
                zoneName: count.zoneName,
                recordType: count.recordType,
                records: count.records
            )
        }
        return .ok(.init(body: .json(.init(counts: counts))))
    }

    func resetContents(
        _ input: Operations.ResetContents.Input,
        context: AdministrationHost
    ) throws -> Operations.ResetContents.Output {
        let (container, environment) = (try Self.checked(input.path.container), input.path.environment)
        try Self.check(input.body, deletes: environment, of: container)
        let count = try context.emulator.resetContents(of: container, in: .init(environment))
        context.server.events.send { .restored }
        return .ok(.init(body: .json(.init(deletedRecords: count))))
    }

    private static func check(
        _ body: Components.RequestBodies.Confirmation,
        deletes environment: Components.Schemas.Environment,
        of container: String
    ) throws {
        let expected = "delete \(environment.rawValue) of \(container)"
        guard try body.json.confirmation == expected else {
            throw AdministrationFailure(
                .badRequest,
                .unconfirmed,
                "This deletes records. Confirm it with {\"confirmation\":\"\(expected)\"}."
            )
        }
    }

    static func checked(_ container: String) throws(AdministrationFailure) -> String {
        guard container.utf8.count <= 255 else {
            throw AdministrationFailure(
                .badRequest,
                .invalidRequest,
                "The container's identifier is longer than 255 characters."
            )
        }
        return container
    }

    // MARK: Users

    func listUsers(
        _ input: Operations.ListUsers.Input,
        context: AdministrationHost
    ) throws -> Operations.ListUsers.Output {
        .ok(.init(body: .json(.init(users: try context.emulator.accounts().map { .init($0) }))))
    }

    func createUser(
        _ input: Operations.CreateUser.Input,
        context: AdministrationHost
    ) throws -> Operations.CreateUser.Output {
        let account = try input.body.json
        let hasName = account.givenName != nil || account.familyName != nil
        let name = try context.emulator.createUser(
            hasName ? NameComponents(givenName: account.givenName, familyName: account.familyName) : nil,
            emailAddress: account.emailAddress,
            phoneNumber: account.phoneNumber,
            isDiscoverable: account.discoverable ?? true
        )
        context.server.events.send { .users }
        let user = Components.Schemas.User(
            userRecordName: name,
            givenName: account.givenName,
            familyName: account.familyName,
            emailAddress: account.emailAddress,
            phoneNumber: account.phoneNumber,
            discoverable: account.discoverable ?? true
        )
        return .ok(.init(body: .json(user)))
    }

    func createSession(
        _ input: Operations.CreateSession.Input,
        context: AdministrationHost
    ) throws -> Operations.CreateSession.Output {
        let (emulator, user) = (context.emulator, input.path.userRecordName)
        guard try emulator.userExists(user) else {
            throw AdministrationFailure(.notFound, .notFound, "There is no user '\(user.prefix(255))'.")
        }
        let expires = emulator.present + emulator.configuration.webAuthTokens.keptSignedInLifetime
        let session = Components.Schemas.Session(
            userRecordName: user,
            webAuthToken: try emulator.issueWebAuthToken(for: user, keepsSignedIn: true),
            expiresTimestamp: expires.milliseconds
        )
        return .ok(.init(body: .json(session)))
    }

    // MARK: Faults

    func listFaultRules(
        _ input: Operations.ListFaultRules.Input,
        context: AdministrationHost
    ) -> Operations.ListFaultRules.Output {
        .ok(.init(body: .json(context.faultRules)))
    }

    func replaceFaultRules(
        _ input: Operations.ReplaceFaultRules.Input,
        context: AdministrationHost
    ) throws -> Operations.ReplaceFaultRules.Output {
        context.server.faults.replaceAll(with: try Self.faultRules(from: input.body.json))
        return .ok(.init(body: .json(context.changedFaultRules())))
    }

    func addFaultRule(
        _ input: Operations.AddFaultRule.Input,
        context: AdministrationHost
    ) throws -> Operations.AddFaultRule.Output {
        for rule in try Self.faultRules(from: [input.body.json]) { context.server.faults.add(rule) }
        return .ok(.init(body: .json(context.changedFaultRules())))
    }

    private static func faultRules(from values: [JSONValue]) throws -> [FaultRule] {
        do {
            return try FaultRule.rules(from: values)
        } catch {
            throw AdministrationFailure(
                .badRequest,
                .invalidRule,
                "Rule \(error.rule) \(error.text). The faults are \(FaultRule.faultNames.joined(separator: ", "))."
            )
        }
    }

    func removeFaultRule(
        _ input: Operations.RemoveFaultRule.Input,
        context: AdministrationHost
    ) throws -> Operations.RemoveFaultRule.Output {
        guard context.server.faults.remove(input.path.number) else {
            throw AdministrationFailure(.notFound, .notFound, "There is no fault rule \(input.path.number).")
        }
        return .ok(.init(body: .json(context.changedFaultRules())))
    }

    func removeFaultRules(
        _ input: Operations.RemoveFaultRules.Input,
        context: AdministrationHost
    ) -> Operations.RemoveFaultRules.Output {
        context.server.faults.removeAll()
        _ = context.changedFaultRules()
        return .noContent(.init())
    }
}

extension AdministrationHost {
    var emulator: CloudKitEmulator { server.emulator }

    /// The fault rules after a change, of which those who listen are told.
    fileprivate func changedFaultRules() -> Components.Schemas.FaultRuleStates {
        let rules = faultRules
        server.events.send { .faults(rules) }
        return rules
    }

    fileprivate var faultRules: Components.Schemas.FaultRuleStates {
        .init(
            rules: server.faults.states.enumerated().map { index, state in
                .init(
                    number: index + 1,
                    rule: state.rule.json,
                    matchedRequests: state.matchedRequests,
                    firedRequests: state.firedRequests
                )
            }
        )
    }
}

extension ContainerEnvironment {
    init(_ environment: Components.Schemas.Environment) {
        self =
            switch environment {
            case .development: .development
            case .production: .production
            }
    }
}

extension Components.Schemas.SchemaChanges {
    init(_ comparison: SchemaComparison) {
        self.init(changes: comparison.changes.map { .init(text: $0.description, refusal: $0.refusal) })
    }
}

extension Components.Schemas.User {
    fileprivate init(_ person: Person) {
        self.init(
            userRecordName: person.userRecordName,
            givenName: person.nameComponents?.givenName,
            familyName: person.nameComponents?.familyName,
            emailAddress: person.emailAddress,
            phoneNumber: person.phoneNumber,
            discoverable: person.isDiscoverable
        )
    }
}

extension EmulatorConfiguration {
    /// All switches and limits by name, those of a group behind the name of the group: `unsettled.createOnExisting`.
    var switches: [String: String] {
        var switches: [String: String] = [:]
        func add(_ value: Any, _ prefix: String) {
            for child in Mirror(reflecting: value).children {
                guard let label = child.label else { continue }
                if let code = child.value as? ServerErrorCode {
                    switches[prefix + label] = code.rawValue
                } else if Mirror(reflecting: child.value).displayStyle == .struct {
                    add(child.value, "\(prefix)\(label).")
                } else {
                    switches[prefix + label] = "\(child.value)"
                }
            }
        }
        add(self, "")
        return switches
    }
}
