import MistModels

let misspelt = Query<Note> {
    // error: There is no field of this name. It may be misspelt, computed or ignored.
    Filter(\.titel == "a")
    // error: There is no field of this name. It may be misspelt, computed or ignored.
    Filter(\.ratings > 3)
    // error: There is no field of this name. It may be misspelt, computed or ignored.
    Sort(\.titel)
}

let computed = Query<Note> {
    // error: There is no field of this name. It may be misspelt, computed or ignored.
    Filter(\.summary == "a")
    // error: There is no field of this name. It may be misspelt, computed or ignored.
    Filter(\.isGood)
}

let misspeltText = Query<Note> {
    // error: cannot convert value of type 'KeyPath<Note.Fields, NoSuchField>' to expected argument type 'KeyPath<Note.Fields, RecordField<String>>'
    Filter(\.titel, beginsWith: "a")
}
