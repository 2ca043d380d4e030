public import CloudKitModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Records to test with.
public enum Fixtures {
    /// A record with a field of every type that can be saved without an upload: each scalar, each list, and an empty
    /// list.
    ///
    /// The references point to a record that does not exist, which the action `NONE` allows. The service adds their
    /// zone when it sends them back; all other values come back as they are.
    ///
    /// - Parameters:
    ///   - recordName: The record's name; the service makes a name when `nil`.
    ///   - recordType: The record's type.
    ///   - encrypted: Whether the record has an encrypted field as well, which public databases refuse.
    /// - Returns: The record, not saved yet.
    public static func recordOfEveryFieldType(
        named recordName: String? = nil,
        recordType: String = "Everything",
        encrypted: Bool = false
    ) -> Record {
        let moment = Date(timeIntervalSince1970: 1_767_225_600.25)
        let place = Location(latitude: 59.913_9, longitude: 10.752_2)
        let elsewhere = Reference(recordName: "elsewhere")
        var record = Record(
            recordType: recordType,
            recordName: recordName,
            fields: [
                "string": .string("Blåbærsyltetøy \"\u{1F353}\""),
                "int64": .int64(.max),
                "double": .double(2),
                "timestamp": .timestamp(moment),
                "bytes": .bytes(Data([0, 1, 254, 255])),
                "reference": .reference(elsewhere),
                "location": .location(place),
                "strings": .stringList(["a", ""]),
                "int64s": .int64List([.min, 0]),
                "doubles": .doubleList([0.1, -3]),
                "timestamps": .timestampList([moment]),
                "byteStrings": .bytesList([Data(), Data([7])]),
                "references": .referenceList([elsewhere]),
                "locations": .locationList([place]),
                "nothing": .stringList([]),
            ]
        )
        if encrypted { record["secret"] = .encrypted(.string("x")) }
        return record
    }
}
