import Foundation
import MistKit

/// Processes that use stores and are killed: a program for `Scripts/check-processes` and `Scripts/check-store-files`.
///
/// ```
/// StoreProcesses drive <seconds> [seed]  // starts the others, kills them, and checks the end
/// StoreProcesses work <folder> <number> <address> <API token> <web token>  // changes records and synchronises
/// StoreProcesses read <folder>           // reads all the time
/// StoreProcesses files <MiB> [seed]      // sends files through two stores, and kills their processes
/// StoreProcesses file <role> <folder> <MiB> <address> <API token> <web token>  // sends or fetches the files
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
            case "files":
                let seed = arguments.dropFirst().first.flatMap { UInt64($0) } ?? .random(in: 0...999_999)
                try await FileDriver(mebibytes: arguments.first.flatMap { Int($0) } ?? 64, seed: seed).run()
            case "file":
                guard arguments.count == 6, let mebibytes = Int(arguments[2]), let address = URL(string: arguments[3])
                else { throw Problem("file: a role, a folder, a size, an address and two tokens are needed.") }
                let service = CloudKitService(
                    containerIdentifier: Driver.container,
                    apiToken: arguments[4],
                    webAuthToken: arguments[5],
                    configuration: CloudKitService.Configuration(serverURL: address)
                )
                let folder = URL(filePath: arguments[1])
                try await FileWorker(role: arguments[0], folder: folder, mebibytes: mebibytes, service: service).run()
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
