import ArgumentParser
import Foundation
import MistKit

/// `mistkit auth keygen`
struct KeyGenerationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keygen",
        abstract: "Make a server-to-server key: the private key in a file, the public key on standard output.",
        discussion: """
            The file has the private key as PEM and only you can read it; an existing file is not replaced. For Apple's service, paste the \
            public key into the page Tokens & Keys of the container; the console shows the key ID for MISTKIT_KEY_ID. For the emulator, \
            save the public key in a file and give it to `mistkit emulator --public-key`.

            Examples:
              mistkit auth keygen > key.pub
              mistkit auth keygen --output production.pem
            """
    )

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The file for the private key.", valueName: "file"),
        completion: .anyFile
    )
    var output = "cloudkit-private-key.pem"

    func run() async throws {
        let key = ServerToServerKey.generate()
        // O_EXCL: of two runs at once one fails, and no key is lost.
        let descriptor = open(output, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else {
            throw errno == EEXIST
                ? CommandError(
                    code: .usage,
                    message: "The file \(output) exists and is not replaced.",
                    remedy: "Name another file with --output, or move that one away."
                )
                : CommandError(
                    code: .cannotWrite,
                    message: "The file \(output) cannot be written: \(String(cString: strerror(errno))).",
                    remedy: "Name a file in a folder that you can write to with --output."
                )
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try file.write(contentsOf: Data((key.revealPrivateKeyPEM().trimmingCharacters(in: .newlines) + "\n").utf8))
        try file.synchronize()
        Terminal.writeLine(key.publicKeyPEM.trimmingCharacters(in: .newlines))
        Terminal.writeError(
            """
            The private key is in \(output). Standard output has the public key. Register the public key
              with Apple:     in the CloudKit console, Tokens & Keys
              with emulator:  mistkit emulator --public-key <file with the public key>
            Both show the key ID. Then set
              MISTKIT_KEY_ID=<key ID>
              MISTKIT_PRIVATE_KEY_FILE=\(output)
            """
        )
    }
}
