import MistModels
import MistTesting

@CloudKitRecord
struct Note {
    var title: String
    var rating: Int
}

try await withCloudKitEmulator { emulator in
    let database = emulator.service(as: .user).privateDatabase

    try await database.save(Note(title: "Buy milk", rating: 2))
    var book = try await database.save(Note(title: "Read a book", rating: 3))
    book.rating = 5
    try await database.update(&book)

    for try await note in database.records(matching: Query<Note> { Filter(\.rating > 3) }) {
        print(note.title, note.rating)  // Read a book 5
    }
}
