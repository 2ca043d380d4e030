import ArgumentParser
import Foundation
import MistKit

/// `mistkit auth keygen`
struct KeyGenerationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keygen",
        abstract: "Make a server-to-server key: the private half into a file, the public half for the console.",
        discussion: """
            The private key is written in PEM, readable for you alone, and an existing file is never replaced. Paste the public key \
            into the container's Tokens & Keys page; the console answers with the key ID that MISTKIT_KEY_ID wants.
            """
    )

    @Option(name: .shortAndLong, help: ArgumentHelp("Where the private key goes.", valueName: "file"))
    var output = "cloudkit-private-key.pem"

    func run() async throws {
        let key = ServerToServerKey.generate()
        // O_EXCL: of two runs at once one fails, and no key is lost.
        let descriptor = open(output, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else {
            throw errno == EEXIST
                ? CommandError(
                    code: .usage,
                    message: "\(output) exists and is not replaced.",
                    remedy: "Name another file with --output, or move that one away."
                )
                : CommandError(
                    code: .usage,
                    message: "\(output) cannot be written: \(String(cString: strerror(errno))).",
                    remedy: "Name a file in a folder of yours with --output."
                )
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data((key.revealPrivateKeyPEM().trimmingCharacters(in: .newlines) + "\n").utf8))
        try file.synchronize()
        Terminal.writeLine(key.publicKeyPEM.trimmingCharacters(in: .newlines))
        Terminal.writeError(
            """
            The private key is in \(output). The public key goes into the CloudKit console; then set
              MISTKIT_KEY_ID=<the ID that the console shows>
              MISTKIT_PRIVATE_KEY_FILE=\(output)
            """
        )
    }
}
