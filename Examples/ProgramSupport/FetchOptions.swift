import ArgumentParser
import WebFetching

/// How documents are fetched.
package struct FetchOptions<Program: DatabaseProgram>: ParsableArguments {
    @Option(help: ArgumentHelp("The pause between two requests to one host.", valueName: "seconds"))
    package var pause = Program.fetching.pause / .seconds(1)

    @Option(help: ArgumentHelp("How long a request may take.", valueName: "seconds"))
    package var timeLimit = Program.fetching.timeLimit / .seconds(1)

    @Option(help: ArgumentHelp("The largest document that is accepted.", valueName: "bytes"))
    package var sizeLimit = Program.fetching.sizeLimit

    @Option(help: ArgumentHelp("How the program introduces itself to hosts.", valueName: "text"))
    package var userAgent = Program.fetching.userAgent

    package init() {}

    package func validate() throws {
        guard (0...86_400).contains(pause) else { throw ValidationError("--pause is from 0 to 86400 seconds.") }
        guard (0.1...3600).contains(timeLimit) else {
            throw ValidationError("--time-limit is from 0.1 to 3600 seconds.")
        }
        guard (1024...1_000_000_000).contains(sizeLimit) else {
            throw ValidationError("--size-limit is from 1024 to 1000000000 bytes.")
        }
        guard !userAgent.isEmpty, userAgent.unicodeScalars.allSatisfy({ (0x20...0x7E).contains($0.value) }) else {
            throw ValidationError("--user-agent is a line of ASCII characters.")
        }
    }

    package var configuration: FetchConfiguration {
        var configuration = Program.fetching
        configuration.pause = .seconds(pause)
        configuration.timeLimit = .seconds(timeLimit)
        configuration.sizeLimit = sizeLimit
        configuration.userAgent = userAgent
        return configuration
    }
}
