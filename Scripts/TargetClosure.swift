// Follows Package.swift in the manifest of a package with some of its targets.

/// The names of targets, and of all targets that they depend on.
///
/// - Parameters:
///   - roots: The names to begin with.
///   - excluded: Names that are left out, with what only they depend on.
/// - Returns: The names.
@MainActor
func closure(of roots: Set<String>, without excluded: Set<String> = []) -> Set<String> {
    var names = roots
    while true {
        let dependencies = package.targets.filter { names.contains($0.name) }.flatMap(\.dependencies)
        let found = dependencies.compactMap { dependency -> String? in
            switch dependency {
            case .targetItem(let name, _), .byNameItem(let name, _): name
            default: nil
            }
        }
        let all = names.union(found).subtracting(excluded)
        if all == names { return names }
        names = all
    }
}
