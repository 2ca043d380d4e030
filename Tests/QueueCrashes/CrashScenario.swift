/// A story of a program, a queue and a service. Each step begins an hour after the one before.
struct CrashScenario {
    /// A mutation that the program adds: what, for which entity, and after which others.
    struct Addition {
        let text: String
        let entity: String
        var after: [String] = []
        var target: String?

        init(_ text: String, _ entity: String, after: [String] = [], target: String? = nil) {
            (self.text, self.entity, self.after, self.target) = (text, entity, after, target)
        }
    }

    enum Step {
        /// Mutations with their rows, in one transaction.
        case add([Addition])
        /// What the next requests with a text are answered with.
        case faults(String, [Fault])
        case drain
        case discard(String)
        case retryAll
        case resume
        /// SQL of the program.
        case sql(String)
    }

    enum Fault: String {
        case lostRequest, lostReply, refused, offline, signedOut
    }

    let name: String
    /// The limit of attempts.
    var attempts = 20
    let steps: [Step]

    private static let five = (1...5).map { Addition("\($0)", "x") }

    static let all: [CrashScenario] = [
        .init(name: "sends one mutation", steps: [.add([.init("a", "x")]), .drain]),
        .init(name: "sends the mutations of an entity", steps: [.add(five), .drain]),
        .init(
            name: "sends the mutations of several entities",
            steps: [.add((1...6).map { Addition("\($0)", "\($0 % 4)") }), .drain]
        ),
        .init(
            name: "adds while others wait",
            steps: [.add([.init("a", "x")]), .add([.init("b", "x"), .init("c", "y")]), .drain, .add(five), .drain]
        ),
        .init(
            name: "keeps to dependencies",
            steps: [
                .add([.init("upload", "picture")]),
                .add([.init("taste", "tasting", after: ["upload"]), .init("toast", "me", after: ["taste"])]),
                .drain,
            ]
        ),
        .init(
            name: "loses replies",
            steps: [.faults("2", [.lostReply, .lostReply]), .add(five), .drain, .drain, .drain]
        ),
        .init(
            name: "loses requests",
            steps: [.faults("1", [.lostRequest, .lostRequest]), .add(five), .drain, .drain, .drain]
        ),
        .init(
            name: "discards what was refused",
            steps: [.faults("2", [.refused]), .add(five), .drain, .discard("2"), .drain]
        ),
        .init(
            name: "discards dependents",
            steps: [
                .faults("upload", [.refused]),
                .add([
                    .init("upload", "picture"), .init("taste", "tasting", after: ["upload"]),
                    .init("toast", "me", after: ["taste"]), .init("other", "me"),
                ]),
                .drain, .discard("upload"), .drain,
            ]
        ),
        .init(
            name: "sends again what was refused",
            steps: [.faults("1", [.refused]), .add(five), .drain, .retryAll, .drain]
        ),
        .init(
            name: "keeps what has no attempts left",
            attempts: 2,
            steps: [
                .faults("1", Array(repeating: .lostRequest, count: 9)), .add([.init("1", "x"), .init("2", "x")]),
                .drain,
                .drain, .drain,
            ]
        ),
        .init(
            name: "pauses while it is offline",
            steps: [.faults("1", [.offline, .offline]), .add(five + [.init("y", "y")]), .drain, .drain, .drain]
        ),
        .init(
            name: "pauses until a user signs in",
            steps: [.faults("3", [.signedOut]), .add(five), .drain, .resume, .drain]
        ),
        .init(
            name: "adopts an identifier",
            steps: [
                .add([
                    .init("make local-1", "local-1"), .init("edit", "local-1", target: "local-1"),
                    .init("toast", "me", after: ["edit"], target: "local-1"),
                ]),
                .drain,
            ]
        ),
        .init(
            name: "adopts an identifier for what is added later",
            steps: [
                .faults("edit", [.lostRequest]),
                .add([.init("make local-1", "local-1"), .init("edit", "local-1", target: "local-1")]), .drain,
                .add([.init("late", "local-1", target: "local-1")]), .drain,
            ]
        ),
        .init(
            name: "joins mutations that annihilate each other",
            steps: [
                .add([.init("toast", "t")]), .add([.init("untoast", "t"), .init("a", "x")]),
                .add([.init("toast 2", "t")]),
                .drain,
            ]
        ),
        .init(
            name: "sends the opposite of what may be done",
            steps: [
                .faults("toast", [.lostReply]), .add([.init("toast", "t")]), .drain, .add([.init("untoast", "t")]),
                .drain,
            ]
        ),
        .init(
            name: "repeats effects that failed",
            steps: [
                .sql("INSERT OR IGNORE INTO effect (text, count) VALUES ('1', -1)"), .add(five), .drain,
                .sql("DELETE FROM effect WHERE count = -1"), .drain,
            ]
        ),
    ]
}
