import MistKit

func catchesOneCode(_ record: Record, in database: CloudKitDatabase) async throws -> Record? {
    do {
        return try await database.update(record)
    } catch let error as CloudKitError where error.code == .conflict {
        return error.serverRecord
    }
}

func catchesOneCodeInALoop(_ record: Record, in database: CloudKitDatabase) async throws -> Record {
    var record = record
    while true {
        do {
            return try await database.update(record)
        } catch let error as CloudKitError where error.code == .conflict {
            record = try await database.fetch(record.recordName ?? "")
        }
    }
}

func catchesTwoCodesInALoop(_ records: [Record], in database: CloudKitDatabase) async throws -> Int {
    var skipped = 0
    for record in records {
        do {
            try await database.create(record)
        } catch let error as CloudKitError where error.code == .exists || error.code == .conflict {
            skipped += 1
        } catch let error as CloudKitError where error.isTransient {
            break
        }
    }
    return skipped
}

func catchesOneCodeSynchronously(_ texts: [String]) throws -> [ServerToServerKey] {
    var keys: [ServerToServerKey] = []
    for text in texts {
        do {
            keys.append(try ServerToServerKey(text))
        } catch let error as CloudKitError where error.code == .invalidCredentials {
            continue
        }
    }
    do {
        keys.append(try ServerToServerKey(rawRepresentation: []))
    } catch let error as CloudKitError where error.code == .invalidCredentials {
        return keys
    }
    return keys
}
