import MistModels

func plainModels(_ note: Note, _ database: CloudKitDatabase) async throws {
    // error: Give what save, fetch or a query returned, a StoredRecord: it knows the record. save(_:) creates one.
    try await database.update(note)
    // error: Give what save, fetch or a query returned, a StoredRecord: it knows the record. save(_:) creates one.
    try await database.update([note])
    // error: Give what save, fetch or a query returned, a StoredRecord: it knows the record. save(_:) creates one.
    try await database.replace(note)
    // error: Give what save, fetch or a query returned, a StoredRecord: it knows the record. save(_:) creates one.
    try await database.delete(note)
}
