import MistModels

let bareField = Query<Note> {
    // error: A field alone is not a condition; compare it: Filter(\.isActive == true).
    Filter(\.isOpen)
}

let bareCondition = Query<Note> {
    // error: Write the condition in a Filter: Filter(\.age > 18).
    \.rating > 3
}
