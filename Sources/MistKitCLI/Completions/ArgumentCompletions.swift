import ArgumentParser
import Foundation
import MistKit

/// The candidates with which the shell completes an argument.
///
/// Values of enumerations are not listed here, since the argument parser knows them.
extension CompletionKind {
    /// An environment of a container.
    static let environment = CompletionKind.list(ContainerEnvironment.allCases.map(\.rawValue))

    /// A database of a container.
    static let database = CompletionKind.list(DatabaseScope.allCases.map(\.rawValue))

    /// A snapshot in the data folder.
    static let snapshot = CompletionKind.custom { _, _, _ in
        let settings = try? Settings.read(flags: ConnectionOptions.parse([]))
        let folder = (settings?.emulatorFolder ?? EmbeddedEmulator.defaultFolder) + "/snapshots"
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.filter { $0.hasSuffix(".sqlite") && !$0.hasPrefix(".") }.map { String($0.dropLast(7)) }.sorted()
    }

    /// A profile of the configuration files.
    static let profile = CompletionKind.custom { _, _, _ in
        Set(((try? SettingsFile.withProfiles()) ?? []).flatMap { $0.profiles.keys }).sorted()
    }

    /// A user of the embedded emulator.
    static let localUser = CompletionKind.custom { _, _, _ in
        guard let settings = try? Settings.read(flags: ConnectionOptions.parse([])),
            FileManager.default.fileExists(atPath: settings.emulatorFolder + "/emulator.sqlite")
        else { return [] }
        let users = (try? EmbeddedEmulator.ofThisMachine(settings).users()) ?? []
        return users.compactMap { CompletionLine.literal($0.title, in: CompletionShell.requesting) }
    }

    /// A file of any kind.
    static let anyFile = CompletionKind.file()

    /// A schema file.
    static let schemaFile = CompletionKind.file(extensions: ["ckdb"])

    /// A file of records.
    static let recordFile = CompletionKind.file(extensions: ["ndjson", "json", "csv"])

    /// A record type of the container.
    static let recordType = names { names, _ in names.recordTypes.keys.sorted() }

    /// A zone of the database.
    static let zone = names { names, _ in names.zones }

    /// The owner of a zone in the shared database.
    static let zoneOwner = names { names, _ in names.owners }

    /// The name of a field.
    static let field = names { names, line in names.fields(of: line.recordType(in: names)) }

    /// Names of fields, separated by commas.
    static let fieldList = names { names, line in
        let earlier = line.current.split(separator: ",", omittingEmptySubsequences: false).dropLast()
        let rest = names.fields(of: line.recordType(in: names)).filter { !earlier.contains(Substring($0)) }
        return rest.map { (earlier + [Substring($0)]).joined(separator: ",") }
    }

    /// A field and an equals sign; the user types the value.
    static let fieldValue = names { names, line in
        line.current.contains("=") ? [] : names.fields(of: line.recordType(in: names)).map { $0 + "=" }
    }

    /// A field to sort by, with `-` before it if the user typed it.
    static let sortField = names { names, line in
        let sign = line.current.hasPrefix("-") ? "-" : ""
        return (names.fields(of: line.recordType(in: names)) + QueryExpression.systemFieldNames).map { sign + $0 }
    }

    /// A condition: the field, and after a space the comparator.
    static let condition = names { names, line in
        guard let space = line.current.firstIndex(of: " ") else {
            return names.fields(of: line.recordType(in: names)) + QueryExpression.systemFieldNames
        }
        return QueryExpression.comparatorTexts.map { line.current[...space] + $0 }
    }

    /// Names in the container that the command line's settings name.
    private static func names(
        _ candidates: @escaping @Sendable (ContainerNames, CompletionLine) -> [String]
    ) -> CompletionKind {
        .custom { words, index, _ async in
            let shell = CompletionShell.requesting
            let line = CompletionLine(words: words, index: index, shell: shell)
            guard let arguments = line.arguments(), let names = await ContainerNamesReader.names(for: arguments) else {
                return []
            }
            return candidates(names, line).compactMap { CompletionLine.literal($0, in: shell) }
        }
    }
}
