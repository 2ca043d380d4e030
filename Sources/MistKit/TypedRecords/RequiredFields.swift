#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension CloudKitRecord {
    /// The fields that a record must have so that it can be read as the type: their properties have neither an optional
    /// type nor a default value.
    ///
    /// A type does not list them, so records without one field are read. A property of a type of the program's own may
    /// accept none of the values that are tried. If a record must have such a field, only the field itself and those
    /// before it are found.
    package static func requiredFields() -> Set<String> {
        let tried = fieldTable.fields.compactMap { field in
            field.type.known.map { (name: field.name, value: FieldValue.sample(of: $0)) }
        }
        let accepted = tried.filter { field in
            if case .refused = outcome(ofReading: [field]) { false } else { true }
        }
        // The field that stops the reading of a record with all values that are accepted.
        var required: Set<String> = []
        if case .missing(let name) = outcome(ofReading: accepted) { required.insert(name) }
        for field in accepted {
            let others = accepted.filter { $0.name != field.name }
            if case .missing(field.name) = outcome(ofReading: others) { required.insert(field.name) }
        }
        return required
    }

    private static func outcome(ofReading fields: [(name: String, value: FieldValue)]) -> ReadingOutcome {
        var reader = FieldReader(Record.Fields(fields.map { ($0.name, $0.value) }), table: fieldTable)
        do {
            _ = try Self(fields: &reader)
            return .read
        } catch {
            return error.field.map { .missing($0) } ?? .refused
        }
    }
}

/// The outcome of reading a record as a type.
private enum ReadingOutcome {
    case read
    /// The record lacks a field.
    case missing(String)
    /// A value does not fit its field.
    case refused
}

extension FieldValue {
    /// A value of a type.
    fileprivate static func sample(of type: FieldType.Known) -> FieldValue {
        switch type {
        case .string: .string("")
        case .int64: .int64(0)
        case .double: .double(0)
        case .timestamp: .timestamp(Date(timeIntervalSince1970: 0))
        case .bytes: .bytes(Data())
        case .reference: .reference(Reference(recordName: "a"))
        case .asset: .asset(Asset())
        case .location: .location(Location(latitude: 0, longitude: 0))
        case .stringList: .stringList([])
        case .int64List: .int64List([])
        case .doubleList: .doubleList([])
        case .timestampList: .timestampList([])
        case .bytesList: .bytesList([])
        case .referenceList: .referenceList([])
        case .assetList: .assetList([])
        case .locationList: .locationList([])
        }
    }
}
