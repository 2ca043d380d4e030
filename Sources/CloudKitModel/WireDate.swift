import StreamingJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A point in time in JSON: whole milliseconds since 1970. A value in another form is kept as it was read.
struct WireDate: Hashable, Sendable {
    var date: Date {
        didSet { odd = nil }
    }
    private var odd: JSONRawValue?

    init(_ date: Date) {
        self.date = date
    }

    static func == (left: WireDate, right: WireDate) -> Bool { left.date == right.date }

    func hash(into hasher: inout Hasher) { hasher.combine(date) }
}

extension WireDate: JSONBackedCodable {
    /// Reads a number of milliseconds, or a string with a number (`numbersAsStrings`).
    init(json reader: inout JSONReader) throws(JSONError) {
        let start = reader.position
        if try reader.peekKind() == .number {
            do throws(JSONError) {
                let milliseconds = try reader.readInt64()
                date = Date(wireMilliseconds: milliseconds)
                if date.wireMilliseconds == milliseconds { return }
            } catch {
                date = Date(wireMilliseconds: 0)
            }
            reader.rewind(to: start)
            date = Date(timeIntervalSince1970: try reader.readDouble() / 1000)
        } else {
            let text = try reader.readString()
            guard let milliseconds = Double(text), milliseconds.isFinite else {
                throw reader.error(.invalidValue, "expected a number of milliseconds, found \"\(text)\"")
            }
            date = Date(timeIntervalSince1970: milliseconds / 1000)
        }
        reader.rewind(to: start)
        odd = try reader.readRawValue()
    }

    func write(json writer: inout JSONWriter) {
        if let odd {
            writer.writeRaw(odd)
        } else {
            writer.write(milliseconds: date)
        }
    }
}

extension Date {
    /// Makes the date `milliseconds` after the start of 1970 (UTC).
    @inline(__always)
    init(wireMilliseconds milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    /// The nearest whole millisecond since 1970; `nil` when it does not fit.
    @inline(__always)
    var wireMilliseconds: Int64? {
        Int64(exactly: (timeIntervalSince1970 * 1000).rounded())
    }
}

extension JSONWriter {
    /// Writes whole milliseconds since 1970. The service refuses fractions: `Invalid value, expected type TIMESTAMP.`
    @inline(__always)
    mutating func write(milliseconds date: Date) {
        if let milliseconds = date.wireMilliseconds {
            write(milliseconds)
        } else {
            fail(JSONError(code: .notRepresentable, message: "a date outside of the milliseconds that fit 64 bits"))
            writeNull()
        }
    }
}
