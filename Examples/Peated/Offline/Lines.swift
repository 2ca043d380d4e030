import Foundation
import MistMutationQueue
import Peated

/// The lines in which a terminal shows a notebook. They depend on nothing but the values.
public enum NotebookLines {
    /// A feed.
    ///
    /// - Parameters:
    ///   - entries: The feed.
    ///   - count: The most tastings.
    /// - Returns: A line for each tasting and gap.
    public static func feed(_ entries: [FeedEntry], count: Int) -> [String] {
        var lines: [String] = []
        var left = count
        for (index, entry) in entries.enumerated() {
            switch entry {
            case .tasting(let shown):
                guard left > 0 else { return lines }
                left -= 1
                lines.append(tasting(shown))
            case .gap where left == 0: return lines
            case .gap where index == entries.count - 1: lines.append("…  older ones: `peated feed --more`")
            case .gap: lines.append("…  some are missing here: `peated feed --fill`")
            }
        }
        return lines
    }

    /// A tasting.
    public static func tasting(_ shown: ShownTasting) -> String {
        let tasting = shown.tasting
        let notes = tasting.notes.map { ": \(oneLine($0))" } ?? ""
        var line = "\(tasting.id)  \(tasting.rating.map { "\($0)" } ?? "-")  \(oneLine(tasting.bottle.brand)) "
        line += "\(oneLine(tasting.bottle.name)), \(oneLine(tasting.author.username))\(notes)"
        if tasting.toasts > 0 { line += "  (toasts: \(tasting.toasts)\(tasting.hasToasted ? ", yours too" : ""))" }
        if shown.picture != nil || tasting.imageId != nil { line += "  [picture]" }
        switch shown.sending {
        case .done: break
        case .waiting: line += "  [waits]"
        case .underWay: line += "  [is being sent]"
        case .failed(let reason): line += "  [failed: \(oneLine(reason))]"
        }
        return line
    }

    /// The queue: each change, and a summary.
    public static func queue(
        _ mutations: [QueuedMutation<PeatedMutation>],
        _ status: MutationQueueStatus,
        now: Date
    ) -> [String] {
        mutations.map { mutation in
            "\(mutation.id.rawValue.prefix(8))  \(name(mutation.mutation))  \(state(mutation, now: now))"
        } + [summary(status, now: now)]
    }

    /// The state of the queue.
    public static func summary(_ status: MutationQueueStatus, now: Date) -> String {
        guard !status.isEmpty else { return "queue: everything is sent" + pause(status.pause, now) }
        let counts = [
            (status.sending, "being sent"), (status.waiting, "waiting"), (status.failed, "failed"),
            (status.unreadable, "not readable"),
        ]
        let text = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        var time = ""
        if status.pause == nil, let next = status.nextAttempt, next > now {
            time = "; next try in \(seconds(until: next, now))"
        }
        return "queue: \(text)\(pause(status.pause, now))\(time)"
    }

    private static func pause(_ pause: MutationPause?, _ now: Date) -> String {
        guard let pause else { return "" }
        let time = pause.until.map { " for \(seconds(until: $0, now))" } ?? ""
        return "; paused\(time): \(oneLine(pause.message ?? pause.reason.rawValue))"
    }

    /// What a change is.
    public static func name(_ mutation: PeatedMutation?) -> String {
        switch mutation {
        case .upload(let digest): "picture \(digest.prefix(8))"
        case .taste(let id, let content): "tasting \(id) of \(content.bottle)"
        case .toast(let id, true): "toast to \(id)"
        case .toast(let id, false): "toast to \(id) taken back"
        case nil: "written by another version of this program"
        }
    }

    private static func state(_ mutation: QueuedMutation<PeatedMutation>, now: Date) -> String {
        let reason = mutation.lastError.map { ": \(oneLine($0))" } ?? ""
        switch mutation.state {
        case .sending: return "is being sent"
        case .failed: return "failed\(reason)"
        case .unreadable: return "cannot be read\(reason)"
        case .waiting where mutation.isBlocked: return "waits for an earlier change"
        case .waiting:
            guard let next = mutation.nextAttempt, next > now else { return "waits\(reason)" }
            return "next try in \(seconds(until: next, now))\(reason)"
        }
    }

    private static func seconds(until date: Date, _ now: Date) -> String {
        "\(max(Int(date.timeIntervalSince(now).rounded(.up)), 1)) s"
    }

    /// A text of the service as a part of a line: without characters that control the terminal.
    static func oneLine(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
        return String(String.UnicodeScalarView(scalars))
    }
}
