/// A setting of the generator: a key of the configuration file and the property that holds its value.
///
/// To add a setting, add a property to ``GeneratorConfiguration`` and a row to ``all``. The row is all that the reader
/// of the file, its error about a key that is not known, and the summary of a run know about the setting.
struct Setting: Sendable {
    /// The key in the file.
    let key: String
    /// Puts the value of the key into the contents of the file.
    let read: @Sendable (SettingReader, inout ConfigurationFile) throws(Diagnostic) -> Void
    /// The lines of a summary about the value, without a list mark.
    let summary: @Sendable (GeneratorConfiguration) -> [String]

    /// Every key, in the order of a summary.
    static let all: [Setting] = [
        .parts,
        Setting("accessModifier", \.accessModifier, .choice),
        Setting("namingStrategy", \.namingStrategy, .choice),
        Setting("nameOverrides", \.nameOverrides, .dictionary),
        Setting("typeOverrides", \.typeOverrides, .typeOverrides),
        Setting("enumerations", \.enumerations, .choice),
        Setting("unknownMembers", \.unknownMembers, .unknownMembers),
        Setting("handlerContext", \.handlerContext, .bool),
        Setting("bufferedResponses", \.bufferedResponses, .operations),
        Setting("pathTypes", \.pathTypes, .lists),
        Setting("operationExtensions", \.operationExtensions, .strings),
        Setting("referenceFolders", \.referenceFolders, .strings),
        Setting("additionalImports", \.additionalImports, .strings),
        Setting("additionalFileComments", \.additionalFileComments, .strings),
        .filter,
        .featureFlags,
    ]

    /// The parts to generate. Whether the file names them is kept apart from the other settings, because a command line
    /// can name them instead.
    private static let parts = Setting(
        key: "generate",
        read: { (reader, file) throws(Diagnostic) in file.generate = try reader.choices() },
        summary: { ["modes: \(list($0.modes.sorted().map(\.rawValue)))"] }
    )

    /// A line for each list that selects something.
    private static let filter = Setting(
        key: "filter",
        read: { (reader, file) throws(Diagnostic) in file.settings.filter = try reader.filter() },
        summary: { configuration in
            guard let filter = configuration.filter else { return [] }
            let lists = [
                ("operations", filter.operations), ("tags", filter.tags), ("paths", filter.paths),
                ("schemas", filter.schemas),
            ]
            return lists.filter { !$0.1.isEmpty }.map { "filter \($0.0): \(list($0.1))" }
        }
    )

    /// Accepted for compatibility and ignored.
    private static let featureFlags = Setting(
        key: "featureFlags",
        read: { (reader, _) throws(Diagnostic) in _ = try reader.strings() },
        summary: { _ in [] }
    )
}

extension Setting {
    /// A setting whose value has one line in a summary, under the words of its key.
    fileprivate init<Value: Sendable>(
        _ key: String,
        _ property: any WritableKeyPath<GeneratorConfiguration, Value> & Sendable,
        _ form: SettingForm<Value>
    ) {
        self.key = key
        read = { (reader, file) throws(Diagnostic) in file.settings[keyPath: property] = try form.read(reader)() }
        let title = key.reduce(into: "") { $0 += $1.isUppercase ? " \($1.lowercased())" : String($1) }
        summary = { ["\(title): \(form.text($0[keyPath: property]))"] }
    }
}

/// How the value of a setting is read from a file, and written in a summary.
private struct SettingForm<Value: Sendable>: Sendable {
    var read: @Sendable (SettingReader) -> () throws(Diagnostic) -> Value
    var text: @Sendable (Value) -> String
}

extension SettingForm where Value: RawRepresentable & CaseIterable & Sendable, Value.RawValue == String {
    static var choice: Self { Self(read: SettingReader.choice, text: \.rawValue) }
}

extension SettingForm where Value == Bool {
    static var bool: Self { Self(read: SettingReader.bool, text: \.description) }
}

extension SettingForm where Value == [String] {
    static var strings: Self { Self(read: SettingReader.strings, text: list) }
}

extension SettingForm where Value == [String: String] {
    static var dictionary: Self { Self(read: SettingReader.dictionary, text: pairs) }
    static var typeOverrides: Self { Self(read: SettingReader.typeOverrides, text: pairs) }
}

extension SettingForm where Value == [String: [String]] {
    static var lists: Self {
        Self(read: SettingReader.lists, text: { pairs($0.mapValues { $0.joined(separator: "+") }) })
    }
}

extension SettingForm where Value == OperationSelection {
    static var operations: Self {
        Self(read: SettingReader.operations) { selection in
            switch selection {
            case .all: "all"
            case .named(let names): list(names)
            }
        }
    }
}

extension SettingForm where Value == UnknownMembersRule {
    static var unknownMembers: Self {
        Self(read: SettingReader.unknownMembers) { rule in
            let schemas = rule.schemas.sorted { $0.key < $1.key }.map { "\($0)=\($1.rawValue)" }
            return list([rule.default.rawValue] + schemas)
        }
    }
}

@Sendable private func list(_ items: [String]) -> String {
    items.isEmpty ? "<none>" : items.joined(separator: ", ")
}

@Sendable private func pairs(_ items: [String: String]) -> String {
    list(items.sorted { $0.key < $1.key }.map { "\($0)=\($1)" })
}

extension GeneratorConfiguration {
    /// One line for each setting, such as `access modifier: internal`, and one for each list of the filter.
    public var summary: [String] { Setting.all.flatMap { $0.summary(self) } }
}
