import MistKit

func catchesAroundAQuery(_ query: Query<Record>, in database: CloudKitDatabase) async throws -> [String] {
    var names: [String] = []
    do {
        for try await record in database.records(matching: query) {
            names.append(record.recordName ?? "")
        }
    } catch let error as CloudKitError {
        names.append("\(error.code)")
    }
    return names
}

func catchesAroundQueriesInALoop(_ types: [String], in database: CloudKitDatabase) async throws -> Int {
    var count = 0
    for type in types {
        do {
            for try await page in database.records(matching: Query(recordType: type)).pages {
                count += page.results.count
            }
            for try await _ in database.records(matching: Query(recordType: type)).results { count += 1 }
            count += try await database.records(matching: Query(recordType: type)).collect().count
        } catch let error as CloudKitError where error.code == .badRequest {
            continue
        }
    }
    return count
}

func catchesAroundAFeed(_ zone: ZoneID, in database: CloudKitDatabase) async throws -> Int {
    var token: ZoneChangeToken?
    var count = 0
    while true {
        do {
            for try await page in database.changes(inZone: zone, since: token) {
                count += page.changedRecords.count
                token = page.token
            }
            return count
        } catch let error as CloudKitError where error.code == .changeTokenExpired {
            token = nil
            count = 0
        }
    }
}

func catchesAroundFilesAndPushes(_ asset: Asset, _ service: CloudKitService) async -> Int {
    var count = 0
    do {
        for try await chunk in service.privateDatabase.chunks(of: asset) { count += chunk.count }
        for try await _ in service.notifications() { count += 1 }
    } catch let error as CloudKitError {
        print(error.code)
    } catch {
        print(error)
    }
    return count
}
