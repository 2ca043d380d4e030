import MistModels

let either = Query<Note> {
    // error: CloudKit has no "or". For one field list the values: Filter(\.age, in: [1, 2]); else send two queries.
    Filter(\.rating > 3 || \.isOpen == true)
}

let eitherFilter = Query<Note> {
    // error: CloudKit has no "or". For one field list the values: Filter(\.age, in: [1, 2]); else send two queries.
    Filter(\.rating > 3) || Filter(\.isOpen == true)
}

let both = Query<Note> {
    // error: All conditions of a query must hold: write a Filter for each of them.
    Filter(\.rating > 3 && \.isOpen == true)
    // error: All conditions of a query must hold: write a Filter for each of them.
    Filter(\.rating > 3) && Filter(\.isOpen == true)
}

let opposite = Query<Note> {
    // error: Write the opposite comparison, such as != instead of ==.
    Filter(!(\.title == "a"))
}
