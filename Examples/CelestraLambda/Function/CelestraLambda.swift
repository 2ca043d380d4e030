import Foundation
import LambdaRuntime
import Logging

/// The program that Lambda starts as `bootstrap`.
@main
enum CelestraLambda {
    static func main() async {
        // Standard error goes to the log group of the function. The level is that of a new logger: info.
        let logger = Logger(label: "celestra") { StreamLogHandler.standardError(label: $0) }
        do {
            let environment = ProcessInfo.processInfo.environment
            try await LambdaRuntime(environment: environment, logger: logger).run {
                let function = try function(environment, logger: logger)
                return { try await function.respond(to: $0) }
            }
        } catch {
            FileHandle.standardError.write(Data("celestra: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Creates the function with the settings of an environment.
    static func function(_ environment: [String: String], logger: Logger) throws -> UpdateFunction {
        let settings = try FunctionSettings(environment)
        let database = DatabaseProvider(
            settings: settings,
            parameters: ParameterStore(environment: environment),
            logger: logger
        )
        return UpdateFunction(database: database, userAgent: settings.userAgent, logger: logger)
    }
}
