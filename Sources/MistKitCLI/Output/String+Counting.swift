extension String {
    /// A number and what it counts: `1 record`, `2 records`.
    static func counting(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}
