import CloudKitModel
import CloudKitSchema
import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The rules about the value of a field: the stored form of a request's value, or its failure.
///
/// The service infers the type of strings, numbers, objects and lists that come without one, and trusts the type
/// otherwise. The texts of failures are recorded ones.
struct FieldRules {
    let scope: DatabaseScope
    let zone: ZoneRow
    let zoneOwner: String
    /// Whether references may lead to other zones.
    let acceptsOtherZones: Bool

    /// The value as it is stored: in one form for each kind, with the type that every reply shows. `known` is the kind
    /// of the field, or `nil` for a new field.
    ///
    /// - Throws: A `BAD_REQUEST` in the recorded words.
    func stored(
        _ value: FieldValue,
        for name: String,
        of type: String,
        known: FieldKind?
    ) throws(EmulatorError) -> FieldValue {
        var value = value
        // Null is accepted with any type.
        if value.isNullOfAnyType { return .null }
        if let kind = FieldKind(encryptedTag: value.unusualType) {
            return try stored(value, taggedAs: kind, for: name, of: type, known: known)
        }
        if case .verbatim(let verbatim) = value {
            if verbatim.value.isEncrypted, verbatim.type == nil {
                // Without a type, the service takes an encrypted value for bytes.
                throw mismatch("ENCRYPTED_BYTES", name, type, known ?? FieldKind(.string, isEncrypted: true))
            }
            try checkForm(of: verbatim)
            value = verbatim.value
        }
        switch value {
        case .null:
            return .null
        case .unknown(let tag, let json):
            value = try inferred(json, tag: tag, known: known)
        case .encrypted(let inner):
            guard scope != .public else {
                throw .badRequest("encrypted fields are not supported in the public database")
            }
            if let known, !known.isEncrypted {
                throw .badRequest("Attempt to save encrypted data in non encrypted field type")
            }
            let plain = try stored(inner.plain, for: name, of: type, known: nil)
            if plain.isNull { return .null }
            value = .encrypted(plain)
        case .string where known?.element == .reference:
            throw .badRequest("could not decode reference object")
        default:
            value = try checked(value)
        }
        if let known, let kind = FieldKind(of: value), !known.holds(kind) {
            throw mismatch(kind.rawValue, name, type, known)
        }
        return value
    }

    /// A value whose type says that it is encrypted, such as `ENCRYPTED_BYTES`, with `isEncrypted` beside it or not.
    ///
    /// The value obeys the rules of the type that is encrypted. Replies show it with the type of the request (recorded
    /// for `ENCRYPTED_BYTES`).
    private func stored(
        _ value: FieldValue,
        taggedAs kind: FieldKind,
        for name: String,
        of type: String,
        known: FieldKind?
    ) throws(EmulatorError) -> FieldValue {
        let plainKind = FieldKind(kind.type)
        let json: JSONRawValue
        let plain: FieldValue
        do {
            json = try value.jsonOfValue()
            plain = try JSONRawValue(["value": json, "type": JSONRawValue(plainKind.rawValue)]).read(FieldValue.self)
            guard FieldKind(of: plain) == plainKind else { throw EmulatorError.badRequest("") }
            if case .verbatim(let verbatim) = plain { try checkForm(of: verbatim) }
        } catch {
            throw .badRequest("Invalid value, expected type \(kind.rawValue).")
        }
        _ = try stored(.encrypted(plain), for: name, of: type, known: known)
        return .unknown(type: FieldType(rawValue: kind.rawValue), value: json)
    }

    /// A value that does not have the form of its type, or that has no type and is not text, a number, an object or a
    /// list of these.
    private func inferred(
        _ json: JSONRawValue,
        tag: FieldType?,
        known: FieldKind?
    ) throws(EmulatorError) -> FieldValue {
        if tag == .reference { throw .badRequest("could not decode reference object") }
        if let tag, tag != .unknownList {
            throw .badRequest("Invalid value, expected type \(tag.rawValue).")
        }
        switch json.kind {
        case .bool:
            // Truth values are stored as 0 and 1 (Apple's table of types).
            if let value = try? json.read(Bool.self) { return .bool(value) }
        case .array:
            if let values = try? json.read([JSONRawValue].self), values.isEmpty {
                if let list = known?.emptyList { return list }
                return .unknown(type: .unknownList, value: json)
            }
        default:
            break
        }
        throw .badRequest("BadRequestException: Unexpected input")
    }

    private func mismatch(_ kind: String, _ name: String, _ type: String, _ known: FieldKind) -> EmulatorError {
        .badRequest(
            "invalid attempt to set value type \(kind) for field '\(name)' for type '\(type)', "
                + "defined to be: \(known.rawValue)"
        )
    }

    func checkWholeMilliseconds(_ date: Date) throws(EmulatorError) {
        let milliseconds = date.timeIntervalSince1970 * 1000
        guard abs(milliseconds - milliseconds.rounded()) < 0.01, Int64(exactly: milliseconds.rounded()) != nil else {
            throw .badRequest("Invalid value, expected type TIMESTAMP.")
        }
    }

    /// Requests write numbers as JSON numbers, also in lists. Only replies can write them as strings.
    private func checkForm(of verbatim: FieldValue.Verbatim) throws(EmulatorError) {
        guard let type = verbatim.type, let known = type.known,
            [.wholeNumber, .number].contains((known.element ?? known).form),
            let value = (try? verbatim.json.read([String: JSONRawValue].self))?["value"]
        else { return }
        let elements = (try? value.read([JSONRawValue].self)) ?? [value]
        guard !elements.contains(where: { $0.kind == .string }) else {
            throw .badRequest("Invalid value, expected type \(type.rawValue).")
        }
    }

    func check(_ location: Location) throws(EmulatorError) {
        guard location.isOnEarth else {
            throw .badRequest("Invalid value, expected type LOCATION.")
        }
        if let timestamp = location.timestamp { try checkWholeMilliseconds(timestamp) }
    }

    /// The reference as it is stored.
    ///
    /// References of replies name the target's zone with its owner and type, in public databases as well (recorded).
    /// They stay within the zone, as in the native framework, except where recorded records are seeded. They always have
    /// an action: a reference that came without an action has `NONE`.
    func placed(_ reference: Reference) throws(EmulatorError) -> Reference {
        guard !reference.recordName.hasControlCharacters else {
            throw .controlCharacter(in: "the record name of a reference")
        }
        let target = reference.zoneID?.zoneName ?? zone.name
        guard target == zone.name || acceptsOtherZones else {
            throw .badRequest("a reference cannot lead from zone '\(zone.name)' to zone '\(target)'")
        }
        guard !target.hasControlCharacters, reference.zoneID?.owner?.hasControlCharacters != true else {
            throw .controlCharacter(in: "the zone ID of a reference")
        }
        let owner = target == zone.name ? zoneOwner : reference.zoneID?.owner ?? zoneOwner
        return Reference(
            recordName: reference.recordName,
            action: reference.action,
            zoneID: ZoneID(inReply: target, owner: owner)
        )
    }
}

extension FieldRules {
    /// Whether the record type is one of the service's own, which every container has without a schema.
    static func isSystemType(_ name: String) -> Bool {
        name == Record.shareType || name == ContainerSchema.userType
    }
}

extension FieldValue {
    /// Whether the value is null, with any type beside it.
    fileprivate var isNullOfAnyType: Bool {
        switch self {
        case .null: true
        case .unknown(_, let json): json.kind == .null
        case .verbatim(let verbatim): verbatim.value.isNullOfAnyType
        case .encrypted(let value): value.isNullOfAnyType
        default: false
        }
    }

    /// The JSON of the value alone, without its type.
    fileprivate func jsonOfValue() throws -> JSONRawValue {
        switch self {
        case .unknown(_, let json): return json
        case .encrypted(let value): return try value.jsonOfValue()
        default:
            return try JSONRawValue(self).read([String: JSONRawValue].self)["value"] ?? JSONRawValue(parsing: "null")
        }
    }
}
