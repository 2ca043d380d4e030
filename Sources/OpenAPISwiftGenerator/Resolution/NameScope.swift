/// The names taken in one scope of the output: the first declaration gets a name, later ones get it with a number.
struct NameScope {
    /// Names that generated code uses in every scope: its modules and the namespace `Components`.
    ///
    /// A type with one of these names would hide the module or the namespace from the types inside of it. Properties,
    /// cases and methods hide nothing: generated code names modules and namespaces only where the compiler looks for
    /// types.
    static let reserved: Set<String> = ["Swift", "StreamingJSON", "OpenAPISwiftRuntime", "Components"]

    private var taken: Set<String>
    /// The last number that a name got.
    private var numbers: [String: Int] = [:]

    init(taken: Set<String> = []) {
        self.taken = taken
    }

    /// A name that is unique in this scope.
    mutating func claim(_ name: String) -> String {
        if taken.insert(name).inserted { return name }
        var number = (numbers[name] ?? 1) + 1
        while !taken.insert("\(name)_\(number)").inserted { number += 1 }
        numbers[name] = number
        return "\(name)_\(number)"
    }
}
