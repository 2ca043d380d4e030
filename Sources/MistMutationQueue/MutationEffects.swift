public import GRDB

/// What the answer of a service changes in the file, in the transaction that removes the mutation.
///
/// ```swift
/// return MutationEffects { db in
///     try db.execute(sql: "UPDATE tasting SET isSent = 1 WHERE id = ?", arguments: [answer.id])
/// }.adopt(tasting.id, as: answer.id)
/// // BEGIN IMMEDIATE
/// // UPDATE tasting SET isSent = 1 WHERE id = '4711'
/// // …                                the identifier, in all mutations that wait
/// // DELETE FROM mist_mutation …      the mutation
/// // COMMIT
/// ```
public struct MutationEffects: Sendable {
    let apply: @Sendable (Database) throws -> Void
    private(set) var adoptions: [(local: ProvisionalID, service: String)] = []

    /// Makes effects of a closure.
    ///
    /// - Parameter apply: Changes the file. It runs in the transaction of the queue, on its connection, and may run
    ///   again after a crash, with the answer to another attempt. An error that it throws undoes the transaction, and
    ///   the mutation counts as not sent.
    public init(_ apply: @escaping @Sendable (Database) throws -> Void) { self.apply = apply }

    /// The answer changes nothing in the file.
    public static var none: MutationEffects { MutationEffects { _ in } }

    /// Puts the identifier that the service chose in place of one that this machine chose: as the entity of mutations
    /// that wait, and wherever they name it as a ``ProvisionalID``. Mutations that are added later with the former one
    /// get the service's, too.
    ///
    /// - Parameters:
    ///   - local: The identifier that this machine chose.
    ///   - service: The identifier that the service chose.
    /// - Returns: The effects with the adoption.
    public func adopt(_ local: ProvisionalID, as service: String) -> MutationEffects {
        var effects = self
        effects.adoptions.append((local, service))
        return effects
    }
}
