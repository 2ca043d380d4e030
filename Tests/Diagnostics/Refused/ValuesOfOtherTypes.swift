import MistModels

func valuesOfOtherTypes() -> Query<Note> {
    Query<Note> {
        // error: The values in the list have another type than the field.
        Filter(\.rating, in: ["a", "b"])
        // error: The values in the list have another type than the field.
        Filter(\.title, notIn: [1, 2])
        // error: Give an array of values: Filter(\.age, in: [1, 2]).
        Filter(\.title, in: "a")
    }
}
