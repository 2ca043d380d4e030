/// What a batch does with several items for one record. A request takes one operation for each record.
///
/// ```swift
/// let results = try await database.save(articles, named: \.guid, duplicates: .keepLast)
/// // Two articles with the guid "a": the second one is sent, and both have its result.
/// ```
public struct DuplicateNames: Hashable, Sendable {
    private enum Kind: Hashable, Sendable {
        case fail
        case keepFirst
        case keepLast
    }

    private let kind: Kind

    /// The first item is sent. The others fail with ``CloudKitError/Code-swift.struct/invalidArgument``.
    public static let fail = Self(kind: .fail)

    /// The first item is sent, and all have its result.
    public static let keepFirst = Self(kind: .keepFirst)

    /// The last item is sent, and all have its result.
    public static let keepLast = Self(kind: .keepLast)

    /// Which items of a batch are sent, and whose result each has.
    ///
    /// - Parameter names: The name of each item's record; `nil` where the service makes one.
    /// - Returns: The choice.
    func choose(among names: [String?]) -> UniqueItems {
        var chosen: [String: Int] = [:]
        for (index, name) in names.enumerated() {
            guard let name, kind == .keepLast || chosen[name] == nil else { continue }
            chosen[name] = index
        }
        return UniqueItems(
            sources: names.enumerated().map { index, name in name.flatMap { chosen[$0] } ?? index },
            sharesResults: kind != .fail
        )
    }
}

/// The items of a batch that are sent, at most one for each record.
struct UniqueItems: Equatable {
    /// For each item, the index of the item that is sent for its record.
    var sources: [Int]
    /// Whether the items that are not sent have the result of the one that is.
    var sharesResults: Bool

    /// The indices of the items that are sent.
    var sent: [Int] { sources.indices.filter { sources[$0] == $0 } }

    /// The index of the first item that fails.
    var firstRefused: Int? {
        sharesResults ? nil : sources.indices.first { sources[$0] != $0 }
    }

    /// Gives each item its result.
    ///
    /// - Parameters:
    ///   - results: The results of the items that were sent.
    ///   - duplicateError: The error of an item that was not sent.
    /// - Returns: One result per item.
    func results<Value>(
        _ results: [Result<Value, CloudKitError>],
        duplicateError: (Int) -> CloudKitError
    ) -> [Result<Value, CloudKitError>] {
        if results.count == sources.count { return results }
        let positions = Dictionary(uniqueKeysWithValues: zip(sent, results.indices))
        return sources.enumerated().map { index, source in
            guard index == source || sharesResults, let position = positions[source] else {
                return .failure(duplicateError(index))
            }
            return results[position]
        }
    }
}
