import MistKit

func catchesByType(_ record: Record, in database: CloudKitDatabase) async throws -> String {
    do {
        try await database.update(record)
        return "updated"
    } catch let error as CloudKitError {
        return "\(error.code)"
    }
}

func catchesByTypeInALoop(_ names: [String], in database: CloudKitDatabase) async throws -> [String] {
    var codes: [String] = []
    for name in names {
        do {
            _ = try await database.fetch(name)
        } catch let error as CloudKitError {
            codes.append("\(error.code)")
            if error.isTransient { continue }
            break
        }
    }
    return codes
}

func catchesByTypeSynchronously(_ texts: [String]) throws -> [String] {
    var messages: [String] = []
    for text in texts {
        do {
            _ = try ServerToServerKey(text)
        } catch let error as CloudKitError {
            messages.append(error.message)
        }
    }
    do {
        _ = try ShareLink(texts[0])
    } catch let error as CloudKitError {
        messages.append(error.message)
    }
    return messages
}

func catchesByTypeAndTheRest(_ record: Record, in database: CloudKitDatabase) async -> String {
    do {
        try await database.update(record)
        return "updated"
    } catch let error as CloudKitError {
        return "\(error.code)"
    } catch {
        return "\(error)"
    }
}

actor Writer {
    var failures = 0

    func write(_ records: [Record], to database: CloudKitDatabase) async throws {
        let task = Task {
            do {
                try await database.save(records[0])
            } catch let error as CloudKitError {
                return error.code
            }
            return .conflict
        }
        if try await task.value == .conflict { failures += 1 }
        do {
            for record in records { try await database.save(record) }
        } catch let error as CloudKitError {
            failures += error.attempts
        }
    }
}
