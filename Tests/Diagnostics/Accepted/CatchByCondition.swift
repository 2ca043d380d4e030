import MistKit

func catchesWhere(_ record: Record, in database: CloudKitDatabase) async throws -> Bool {
    do {
        try await database.update(record)
        return true
    } catch  where (error as? CloudKitError)?.code == .conflict {
        return false
    }
}

func catchesWhereInALoop(_ record: Record, in database: CloudKitDatabase) async throws -> Record {
    var record = record
    for _ in 0..<10 {
        do {
            return try await database.update(record)
        } catch  where (error as? CloudKitError)?.code == .conflict {
            record = try await database.fetch(record.recordName ?? "")
        }
    }
    return record
}

func catchesWhereSynchronously(_ texts: [String]) throws -> Int {
    var count = 0
    for text in texts {
        do {
            _ = try ServerToServerKey(text)
        } catch  where (error as? CloudKitError)?.code == .invalidCredentials {
            count += 1
        }
    }
    return count
}
