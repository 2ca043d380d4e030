import MistModels

let comparedJSON = Query<Note> {
    // error: CloudKit cannot look into JSON text; keep what queries compare in a field of its own.
    Filter(\.settings == Note.Settings())
    // error: A condition compares a whole field, by its name alone: Filter(\.title == "a").
    Filter(\.settings.theme == "light")
    // error: CloudKit does not sort by lists, files or JSON; by places, Sort(\.place, distanceFrom: here).
    Sort(\.settings)
}
