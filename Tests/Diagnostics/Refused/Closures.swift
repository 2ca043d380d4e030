import MistModels

let closure = Query<Note> {
    // error: CloudKit compares fields and runs no closures; write Filter(\.age > 18).
    Filter { $0.rating > 3 }
}

// error: CloudKit compares fields and runs no closures; write Filter(\.age > 18).
let wholeClosure = Query<Note> { $0.rating > 3 }
