import Foundation
import MistStore

extension ScopeStatus {
    /// How far synchronisation is, as people read it.
    package var lines: [String] {
        var lines = [summary]
        lines += parked.map { "  \($0.recordName.oneLine) waits: \($0.message.oneLine)" }
        lines += unreadable.map { "  \($0.recordName.oneLine) cannot be read: \($0.reason.oneLine)" }
        lines += files.map { file in
            let size = file.totalBytes.map { " of \($0)" } ?? ""
            let reason = file.message.map { ", \($0.oneLine)" } ?? ""
            return "  \(file.isUpload ? "sending" : "fetching") a photo, \(file.completedBytes)\(size) bytes\(reason)"
        }
        if let massDeletion {
            lines.append("  \(massDeletion.deletes) deletes wait. `todo deletes --allow` or `--undo` decides.")
        }
        if let copyNoticed { lines.append("  This folder is a copy of another one, noticed \(copyNoticed.day).") }
        return lines
    }

    /// What a person does where the session is not that of the device's owner.
    package static let otherUserAdvice = """
        The to-dos of this device belong to another user, or to another service. Nothing of them was sent or fetched. Name a \
        new folder with --device, or set the service and the user that the device had.
        """

    private var summary: String {
        let changes = pending == 1 ? "1 change waits" : "\(pending) changes wait"
        if conditions.contains(.otherUser) { return Self.otherUserAdvice }
        if let condition = conditions.first {
            return "\(condition): \(detail?.oneLine ?? changes)\(pending > 0 ? " (\(changes))" : "")"
        }
        if activity == .sending { return "sending, \(progress.sent) of \(progress.total)" }
        if activity == .fetching { return "fetching, \(progress.fetched) so far" }
        if isSynchronised { return "everything is synchronised" }
        return pending > 0 ? changes : "there are changes to fetch"
    }
}

extension SyncSummary {
    /// What a synchronisation did, as people read it.
    package var line: String {
        let counts = [
            (sent, "sent"), (fetched, "fetched"), (removed, "removed here"), (deleted, "deleted there"),
            (merged, "merged"), (lost, "lost to a later edit, see `todo log`"),
        ]
        let parts = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        return parts.isEmpty ? "nothing to do" : parts.joined(separator: ", ")
    }
}
