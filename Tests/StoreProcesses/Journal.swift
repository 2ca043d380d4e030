import Foundation

/// What a worker was about to do and what it has done, in a file that is on the disk before the worker goes on.
struct Journal {
    /// A change of a record.
    struct Change: Hashable {
        enum Kind: String {
            /// A new record, whose title is the number of the change.
            case add
            /// The title becomes the number of the change.
            case edit
            case remove
            /// An amount is added to a counter.
            case count
            /// An amount is added to two counters in one transaction.
            case pair
        }

        let number: Int
        let kind: Kind
        /// The record's name; of a pair, the beginning of both names.
        let name: String
        var amount = 0

        /// The value that the change writes into the title.
        var title: String { "\(number)" }
    }

    /// The outcome of a change.
    enum Outcome: String {
        /// The transaction was committed.
        case done
        /// It was not.
        case not
        /// The process died in between, and the file does not show whether it was.
        case unclear
    }

    private let file: FileHandle
    /// The changes so far, with their outcomes. Only the last one may have none.
    private(set) var changes: [(change: Change, outcome: Outcome?)] = []

    static func url(_ number: Int, in folder: URL) -> URL { folder.appending(path: "journal-\(number)") }

    /// Opens a journal at its end.
    init(_ number: Int, in folder: URL) throws {
        let url = Self.url(number, in: folder)
        if !FileManager.default.fileExists(atPath: url.path) { try Data().write(to: url) }
        changes = try Self.read(number, in: folder)
        file = try FileHandle(forUpdating: url)
        // A process that was killed while it wrote leaves a line without an end.
        let size = try file.seekToEnd()
        if size > 0 {
            try file.seek(toOffset: size - 1)
            if try file.readToEnd() != Data("\n".utf8) { try file.write(contentsOf: Data("\n".utf8)) }
        }
    }

    /// Reads a journal.
    static func read(_ number: Int, in folder: URL) throws -> [(change: Change, outcome: Outcome?)] {
        let text = String(decoding: (try? Data(contentsOf: url(number, in: folder))) ?? Data(), as: UTF8.self)
        var changes: [(change: Change, outcome: Outcome?)] = []
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            if words.count == 6, words[0] == "begin", words[5] == ".", let number = Int(words[1]),
                let kind = Change.Kind(rawValue: words[2]), let amount = Int(words[4])
            {
                changes.append((Change(number: number, kind: kind, name: words[3], amount: amount), nil))
            } else if words.count == 3, words[2] == ".", let outcome = Outcome(rawValue: words[0]),
                let last = changes.indices.last, changes[last].change.number == Int(words[1])
            {
                changes[last].outcome = outcome
            }
        }
        return changes
    }

    /// The number of the next change.
    var next: Int { (changes.last?.change.number ?? 0) + 1 }

    /// Notes a change before it is made.
    mutating func begin(_ change: Change) throws {
        try write("begin \(change.number) \(change.kind.rawValue) \(change.name) \(change.amount) .")
        changes.append((change, nil))
    }

    /// Notes the outcome of the last change.
    mutating func end(_ outcome: Outcome) throws {
        guard let last = changes.indices.last else { return }
        try write("\(outcome.rawValue) \(changes[last].change.number) .")
        changes[last].outcome = outcome
    }

    private func write(_ line: String) throws {
        try file.write(contentsOf: Data("\(line)\n".utf8))
        try file.synchronize()
    }
}

/// The requests that the processes have sent, a file for each process.
struct SentRequest {
    /// When it was sent.
    let time: Int
    let process: Int32
    /// The epoch of the lease in which the process has sent it.
    let epoch: Int64
    let isWrite: Bool

    /// Reads the requests of all processes, in the order in which they were sent.
    static func all(in folder: URL) throws -> [SentRequest] {
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.lastPathComponent.hasPrefix("requests-") }
        return try files.flatMap { file in
            String(decoding: try Data(contentsOf: file), as: UTF8.self).split(separator: "\n").compactMap { line in
                let words = line.split(separator: " ")
                guard words.count == 5, words[4] == ".", let time = Int(words[0]), let process = Int32(words[1]),
                    let epoch = Int64(words[2])
                else { return nil }
                return SentRequest(time: time, process: process, epoch: epoch, isWrite: words[3] == "write")
            }
        }.sorted { $0.time < $1.time }
    }

    var line: String { "\(time) \(process) \(epoch) \(isWrite ? "write" : "read") .\n" }
}
