import MistModels

struct Plain: Codable { var title = "" }

func noRecordType(_ plain: Plain, _ database: CloudKitDatabase) async throws {
    // error: Only records can be saved. Write @CloudKitRecord before the struct, or save a Record.
    try await database.save(plain)
    // error: Only records can be saved. Write @CloudKitRecord before the struct, or save a Record.
    try await database.save(plain, named: "a")
    // error: Only records can be saved. Write @CloudKitRecord before the struct, or save a Record.
    try await database.save([plain])
    // error: Only records can be saved. Write @CloudKitRecord before the struct, or save a Record.
    try await database.upsert(plain, named: "a")
}
