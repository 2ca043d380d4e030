import CloudKitContract
import CloudKitEmulator
import CloudKitEmulatorAdministration
import CloudKitModel
import CloudKitRuleIDs
import HTTPTypes
import OpenAPISwiftRuntime
import StreamingJSON

/// The operations of the document about rules.
extension AdministrationHandlers {
    func listRules(
        _ input: Operations.ListRules.Input,
        context: AdministrationHost
    ) -> Operations.ListRules.Output {
        .ok(.init(body: .json(.init(rules: CloudKitContract.rules.map { .init($0) }))))
    }
}

extension Components.Schemas.Rule {
    init(_ rule: ContractRule) {
        self.init(
            id: rule.identifier?.rawValue ?? rule.id,
            sentence: rule.name,
            evidence: ContractRule.Evidence.allCases.filter(rule.evidence.contains).map(\.sentence)
        )
    }

    /// The rules of the protocol with their identifiers.
    fileprivate static let byIdentifier: [RuleID: Self] = Dictionary(
        uniqueKeysWithValues: CloudKitContract.rules.compactMap { rule in
            rule.identifier.map { ($0, Self(rule)) }
        }
    )
}

extension ContractRule.Evidence {
    fileprivate var sentence: String {
        switch self {
        case .archive: "Apple's archived CloudKit Web Services Reference"
        case .cloudKitJS: "the behaviour of Apple's CloudKit JS"
        case .recorded: "a recorded exchange with the service"
        case .observed: "a written observation of the live service"
        case .samples: "Apple's sample programs, or CloudKit JS 1.2.0"
        case .liveTests: "the tests of another client, written to run against the live service"
        case .native: "the native framework, which speaks to the same servers"
        case .peers: "the behaviour that other clients of the service assume"
        case .inferred: "inferred from other rules"
        case .unconfirmed: "not confirmed: sources disagree or say nothing"
        }
    }
}

/// Explains the answer of a request of the log.
struct RefusalExplanation {
    typealias Schemas = Components.Schemas

    let entry: RequestLog.Entry
    let emulator: CloudKitEmulator
    private let container: String
    private let environment: ContainerEnvironment
    private let scope: DatabaseScope

    init?(_ entry: RequestLog.Entry, _ emulator: CloudKitEmulator) {
        // /database/1/{container}/{environment}/{database}/{entity}/{action}
        let parts = (entry.request.path ?? "/").prefix { $0 != "?" }.split(separator: "/")
        guard parts.count > 5, parts[0] == "database",
            let environment = ContainerEnvironment(rawValue: parts[3].lowercased()),
            let scope = DatabaseScope(rawValue: String(parts[4]))
        else { return nil }
        self.entry = entry
        self.emulator = emulator
        container = PercentEncoding.decode(String(parts[2]))
        self.environment = environment
        self.scope = scope
    }

    /// Why the request, or items of it, were refused; and why its result is empty, where it is a query.
    func refusals() throws -> [Schemas.Refusal] {
        let refusals = try entry.trace.refusals.notes.map { note in
            let cause = note.error.cause
            var rules = cause.rules.compactMap { Schemas.Rule.byIdentifier[$0] }
            if let sentence = cause.sentence {
                rules.append(.init(id: sentence, sentence: sentence, evidence: ["a decision of the emulator"]))
            }
            return Schemas.Refusal(
                item: note.item,
                serverErrorCode: note.error.serverErrorCode.rawValue,
                reason: note.error.reason,
                rules: rules,
                remedies: try cause.remedies.flatMap(remedies)
            )
        }
        return try refusals + emptiness()
    }

    // MARK: Remedies

    private var address: String {
        "/_emulator/containers/\(PercentEncoding.encode(container))"
    }

    private var deployment: Schemas.Remedy {
        .init(
            title: "Deploy the schema of development to production",
            kind: .request,
            request: .init(method: "POST", path: "\(address)/schema/deployment")
        )
    }

    private func remedies(for remedy: RefusalCause.Remedy) throws -> [Schemas.Remedy] {
        switch remedy {
        case .index(let index, let field, let recordType):
            let body =
                ["recordType": .string(recordType), "field": .string(field), "index": .string(index)] as JSONValue
            return schemaChange("Add a \(index.uppercased()) index to \(field) of \(recordType)", "indexes", body)
        case .grant(let permission, let role, let recordType):
            let body =
                ["recordType": .string(recordType), "role": .string(role), "permission": .string(permission)]
                as JSONValue
            return schemaChange("Grant \(permission.uppercased()) on \(recordType) to \(role)", "grants", body)
        case .deployment: return [deployment]
        case .definition(let type, nil):
            return [.init(title: "Add the record type \(type) to the schema of development", kind: .edit)]
        case .definition(let type, let field?):
            return [.init(title: "Add the field \(field) to \(type) in the schema of development", kind: .edit)]
        case .signIn: return [.init(title: "Act as a user", kind: .signIn)]
        case .fetchAgain:
            return [.init(title: "Fetch the record as it is now, and repeat the edit", kind: .fetchAgain)]
        case .anotherName: return [.init(title: "Give the record another name", kind: .edit)]
        }
    }

    /// A change of the schema of development. Production gets it by a deployment.
    private func schemaChange(_ title: String, _ end: String, _ body: JSONValue) -> [Schemas.Remedy] {
        let text = (try? JSONWriter.bytes(of: body, options: [.sortedKeys])).map { String(decoding: $0, as: UTF8.self) }
        let change = Schemas.Remedy(
            title: environment == .production ? "\(title), in development" : title,
            kind: .request,
            request: .init(method: "POST", path: "\(address)/development/schema/\(end)", body: text)
        )
        return environment == .production ? [change, deployment] : [change]
    }

    // MARK: Empty results

    /// Where the records are that a query without a result may have meant.
    private func emptiness() throws -> [Schemas.Refusal] {
        guard entry.response?.status == .ok,
            (entry.request.path ?? "").prefix(while: { $0 != "?" }).hasSuffix("/records/query"),
            let bytes = entry.bodies?.request, let reply = entry.bodies?.reply,
            let request = try? JSONReader.read(JSONValue.self, from: Array(bytes)),
            let answer = try? JSONReader.read(JSONValue.self, from: Array(reply)),
            answer["records"]?.arrayValue?.isEmpty == true, request["continuationMarker"]?.stringValue == nil,
            let type = request["query"]?["recordType"]?.stringValue
        else { return [] }
        let zone = request["zoneID"]?["zoneName"]?.stringValue ?? ZoneID.default.zoneName
        let owner = scope == .private ? entry.trace.contents.caller?.userRecordName : nil
        let counts = try emulator.recordCounts().filter { $0.container == container && $0.recordType == type }
        func isHere(_ count: RecordCount) -> Bool {
            count.environment == environment && count.zoneName == zone && count.owner == owner && scope != .shared
        }
        let here = counts.filter(isHere).reduce(0) { $0 + $1.records }
        let elsewhere = counts.filter { !isHere($0) }
        var sentences: [String] = []
        if here > 0 {
            sentences.append(
                "The zone has \(here) records of \(type), and none that the caller may read matches the filters."
            )
        } else if elsewhere.isEmpty {
            sentences.append("There is no record of \(type) in the container.")
        } else {
            sentences.append("There is no record of \(type) here.")
            for count in elsewhere.prefix(5) {
                let database = count.owner.map { "the private database of \($0)" } ?? "the public database"
                sentences.append(
                    "\(count.environment.rawValue.capitalizedASCII) has \(count.records) in the zone \(count.zoneName) of \(database)."
                )
            }
        }
        return [.init(reason: sentences.joined(separator: " "), rules: [], remedies: [])]
    }
}

extension String {
    fileprivate var capitalizedASCII: String { prefix(1).uppercased() + dropFirst() }
}
