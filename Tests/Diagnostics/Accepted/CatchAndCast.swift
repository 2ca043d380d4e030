import MistKit

func casts(_ record: Record, in database: CloudKitDatabase) async throws -> Record? {
    do {
        return try await database.update(record)
    } catch {
        guard let error = error as? CloudKitError, error.code == .conflict else { throw error }
        return error.serverRecord
    }
}

func castsInALoop(_ records: [Record], in database: CloudKitDatabase) async -> [String] {
    var problems: [String] = []
    for record in records {
        do {
            try await database.update(record)
        } catch {
            switch (error as? CloudKitError)?.code {
            case .conflict?: continue
            case let code?: problems.append("\(code)")
            case nil: problems.append("\(error)")
            }
        }
    }
    return problems
}

func castsSynchronously(_ records: [Record]) -> [Share] {
    var shares: [Share] = []
    while shares.count < records.count {
        do {
            shares.append(try Share(records[shares.count]))
        } catch {
            if let error = error as? CloudKitError { print(error.message) }
            break
        }
    }
    return shares
}
