import Foundation

/// Processes that share the files of a store and are killed: a program for `Scripts/check-processes`.
///
/// ```
/// StoreProcesses drive <seconds> [seed]  // starts the others, kills them, and checks the end
/// StoreProcesses work <folder> <number> <address> <API token> <web token>  // changes records and synchronises
/// StoreProcesses read <folder>           // reads all the time
/// ```
@main
struct Main {
    static func main() async {
        do {
            var arguments = Array(CommandLine.arguments.dropFirst())
            guard !arguments.isEmpty else { throw Problem("StoreProcesses drive <seconds> [seed]") }
            switch arguments.removeFirst() {
            case "drive":
                let seconds = arguments.first.flatMap { Int($0) } ?? 10
                let seed = arguments.dropFirst().first.flatMap { UInt64($0) } ?? .random(in: 0...999_999)
                try await Driver(seconds: seconds, seed: seed).run()
            case "work":
                guard arguments.count == 5, let number = Int(arguments[1]), let address = URL(string: arguments[2])
                else {
                    throw Problem("work: a folder, a number, an address and two tokens are needed.")
                }
                let worker = try Worker(
                    number,
                    in: URL(filePath: arguments[0]),
                    address: address,
                    apiToken: arguments[3],
                    webToken: arguments[4]
                )
                try await worker.run()
            case "read":
                guard arguments.count == 1 else { throw Problem("read: a folder is needed.") }
                try await Reader(folder: URL(filePath: arguments[0])).run()
            case let word:
                throw Problem("There is no \(word).")
            }
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }
}

/// What is wrong.
struct Problem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// Milliseconds by a clock that all processes of the machine share, and that only goes forward.
func milliseconds() -> Int {
    Int(DispatchTime.now().uptimeNanoseconds / 1_000_000)
}
