import MistModels

let descending = Query<Note> {
    // error: The order is a Bool: Sort(\.title, ascending: false).
    Sort(\.title, .descending)
    // error: The order is a Bool: Sort(\.title, ascending: false).
    Sort(\.title, order: .reverse)
}
