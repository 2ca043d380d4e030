/// The names taken in one place of the output: the first to ask for a name gets it, later ones get it with a number.
struct NameScope {
    private var taken: Set<String>

    init(taken: Set<String> = []) {
        self.taken = taken
    }

    /// A name that nobody else in this scope has.
    mutating func claim(_ name: String) -> String {
        if taken.insert(name).inserted { return name }
        var number = 2
        while !taken.insert("\(name)_\(number)").inserted { number += 1 }
        return "\(name)_\(number)"
    }
}
