package import GRDB

/// A number that stands for a row of a table, or for a time. Each kind has a type of its own, so that one cannot be
/// passed for another.
package protocol TypedNumber: RawRepresentable<Int64>, Hashable, Comparable, Sendable, CustomStringConvertible,
    ExpressibleByIntegerLiteral, DatabaseValueConvertible, StatementColumnConvertible
{
    init(rawValue: Int64)
}

extension TypedNumber {
    package init(_ number: Int64) { self.init(rawValue: number) }
    package init(integerLiteral value: Int64) { self.init(rawValue: value) }
    package var description: String { "\(rawValue)" }
    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

extension Database {
    /// The number of the row that was inserted last.
    package func lastInserted<Number: TypedNumber>(_ type: Number.Type) -> Number { Number(lastInsertedRowID) }
}
