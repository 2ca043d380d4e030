import ArgumentParser

/// Why a command ended without doing its work: a sentence on what was wrong, a sentence on what to do, and the exit code.
struct CommandError: Error {
    /// The exit codes of `mistkit`, numbered as in `sysexits.h` where that has one.
    enum Code: Int32, Sendable {
        /// The service refused, or an item of a batch failed.
        case failure = 1
        /// The command line or the settings are wrong.
        case usage = 64
        /// The data that was given cannot be read.
        case data = 65
        /// The service cannot be reached, or asks to come back later.
        case unavailable = 69
        /// The credentials are missing, wrong or not enough.
        case permission = 77
    }

    var code: Code
    var message: String
    var remedy: String?

    /// What standard error shows.
    var text: String {
        "mistkit: \(message)" + (remedy.map { "\n  \($0)" } ?? "")
    }
}
