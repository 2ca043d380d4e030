import MistModels

let comparedLists = Query<Note> {
    // error: CloudKit does not compare lists; ask what one holds: Filter(\.tags, contains: "a").
    Filter(\.tags == ["a"])
    // error: CloudKit does not compare lists; ask what one holds: Filter(\.tags, contains: "a").
    Filter(\.tags != "a")
}
