import StreamingJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Fields as a line of text: for the cells of a table, a CSV file or an SQLite file.
package enum FieldText {
    /// The text of a value in a cell.
    package static func describe(_ value: FieldValue) -> String {
        switch value.plain {
        case .string(let text): text
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .timestamp(let date): describe(date)
        case .bytes(let data): data.base64EncodedString()
        case .reference(let reference): describe(reference)
        case .asset(let asset): asset.fileChecksum.map { "asset \($0)" } ?? "asset"
        case .location(let location): describe(location)
        case .assetList(let values): "\(values.count) assets"
        case .stringList, .int64List, .doubleList, .timestampList, .bytesList, .referenceList, .locationList:
            (value.elements ?? []).map(describe).joined(separator: ", ")
        case .unknown(_, let json): json.description
        case .null, .encrypted, .verbatim: ""
        }
    }

    /// The text of a value for programs: texts and numbers as they are, values with parts as JSON.
    package static func plainText(_ value: FieldValue) -> String {
        switch value.plain {
        case .reference(let reference): reference.recordName
        case .asset(let asset): json(asset)
        case .location(let location): json(location)
        case .stringList(let values): json(values)
        case .int64List(let values): json(values)
        case .doubleList(let values): json(values)
        case .timestampList, .bytesList, .referenceList: json((value.elements ?? []).map(plainText))
        case .assetList(let values): json(values)
        case .locationList(let values): json(values)
        case .string, .int64, .double, .timestamp, .bytes, .unknown, .null, .encrypted, .verbatim: describe(value)
        }
    }

    private static func json(_ value: some JSONWritable) -> String {
        (try? JSONWriter.bytes(of: value)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// A point in time in UTC, with milliseconds only where they are not zero.
    package static func describe(_ date: Date) -> String {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        let isWhole = milliseconds.truncatingRemainder(dividingBy: 1000) == 0
        // The format cuts digits off, so the date is put in the middle of its millisecond.
        return Date(timeIntervalSince1970: (milliseconds + 0.5) / 1000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: !isWhole))
    }

    private static func describe(_ reference: Reference) -> String {
        "→ \(reference.recordName)"
    }

    private static func describe(_ location: Location) -> String {
        "\(location.latitude),\(location.longitude)"
    }
}
