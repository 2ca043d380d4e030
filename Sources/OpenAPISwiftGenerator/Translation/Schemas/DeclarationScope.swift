/// The type in which other types are being declared: its full name, the names taken in it, and its declarations so far.
struct DeclarationScope {
    /// `Components.Schemas` for instance; empty where types of the module itself are declared.
    var path: String
    var names: NameScope
    var declarations: [Declaration] = []
    /// The key of the component schema that contains the declarations, if there is one.
    var owner: String?

    init(path: String, names: NameScope = NameScope(), owner: String? = nil) {
        self.path = path
        self.names = names
        self.owner = owner
    }

    /// The full name of a type that is declared here.
    func path(of name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
}
