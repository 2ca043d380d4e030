import MistModels

func otherComparisons(_ here: Location, _ file: Asset) -> Query<Note> {
    Query<Note> {
        // error: Places are found by distance: Filter(\.place, within: .metres(500), of: here).
        Filter(\.place == here)
        // error: CloudKit does not compare files; store an identifier of the file in a field of its own.
        Filter(\.file != file)
        // error: CloudKit cannot ask whether a field has a value; keep that in a field of its own.
        Filter(\.place == nil)
        // error: CloudKit cannot look into encrypted fields, so queries cannot compare them.
        Filter(\.secret == "a")
        // error: CloudKit cannot look into encrypted fields, so queries cannot compare them.
        Filter(\.secret < "a")
        // error: The field and the value have types that cannot be compared.
        Filter(\.title == 3)
        // error: Places are found by distance: Filter(\.place, within: .metres(500), of: here).
        Filter(\.place < here)
        // error: A condition compares a whole field, by its name alone: Filter(\.title == "a").
        Filter(\Note.title == "a")
    }
}
