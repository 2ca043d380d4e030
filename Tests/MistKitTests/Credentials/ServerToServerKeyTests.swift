import Crypto
import Foundation
import Testing

@testable import MistKit

struct ServerToServerKeyTests {
    private static let original = P256.Signing.PrivateKey()

    /// The same key in every form that the parser takes.
    static var forms: [String: String] {
        let pkcs8 = original.pemRepresentation
        let raw = original.rawRepresentation
        let der = original.derRepresentation
        return [
            "PKCS #8": pkcs8,
            "PKCS #8 with \\n written out": pkcs8.replacing("\n", with: "\\n"),
            "PKCS #8 with \\r\\n written out": pkcs8.replacing("\n", with: "\\r\\n"),
            "PKCS #8 with Windows line ends": pkcs8.replacing("\n", with: "\r\n"),
            "PKCS #8 on one line": pkcs8.replacing("\n", with: " "),
            "PKCS #8 in quotation marks": "  \"\(pkcs8)\"\n",
            "raw bytes in hexadecimal": raw.map { String(format: "%02x", $0) }.joined(),
            "raw bytes in capital hexadecimal": raw.map { String(format: "%02X", $0) }.joined() + "\n",
            "raw bytes in base64": raw.base64EncodedString(),
            "DER in base64": der.base64EncodedString(),
        ]
    }

    @Test(arguments: forms.keys.sorted())
    func everyFormGivesTheSameKey(form: String) throws {
        let key = try ServerToServerKey(try #require(Self.forms[form]))
        #expect(key.publicKeyPEM == Self.original.publicKey.pemRepresentation)
    }

    @Test func rawBytesGiveTheSameKey() throws {
        let key = try ServerToServerKey(rawRepresentation: Array(Self.original.rawRepresentation))
        #expect(key.publicKeyPEM == Self.original.publicKey.pemRepresentation)
    }

    @Test func aKeyThatWasMadeCanBeReadAgain() throws {
        let key = ServerToServerKey.generate()
        #expect(try ServerToServerKey(key.revealPrivateKeyPEM()).publicKeyPEM == key.publicKeyPEM)
        #expect(key.publicKeyPEM.hasPrefix("-----BEGIN PUBLIC KEY-----"))
    }

    @Test(.enabled(if: hasOpenSSL, "openssl is not installed"))
    func keysOfOpensslAreRead() throws {
        try withTemporaryFolder { folder in
            let sec1 = folder.appending(path: "sec1.pem").path
            let pkcs8 = folder.appending(path: "pkcs8.pem").path
            // As Apple's page says, with the name of the curve in front, and converted.
            _ = try run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-out", sec1)
            _ = try run("openssl", "pkcs8", "-topk8", "-nocrypt", "-in", sec1, "-out", pkcs8)
            let expected = try run("openssl", "ec", "-in", sec1, "-pubout").output
            let pems = try [sec1, pkcs8].map { try String(contentsOfFile: $0, encoding: .utf8) }
            #expect(pems[0].contains("BEGIN EC PARAMETERS") && pems[0].contains("BEGIN EC PRIVATE KEY"))
            for pem in pems {
                let key = try ServerToServerKey(pem)
                #expect(expected.contains(key.publicKeyPEM))
            }
        }
    }

    @Test(.enabled(if: hasOpenSSL, "openssl is not installed"))
    func keysOfOtherKindsAreNamed() throws {
        let kinds: [(command: [String], problem: String)] = [
            (["ecparam", "-name", "secp384r1", "-genkey", "-noout"], "a key on the curve P-384"),
            (["ecparam", "-name", "secp256k1", "-genkey", "-noout"], "a key on the curve secp256k1"),
            (["ecparam", "-name", "secp521r1", "-genkey", "-noout"], "a key on the curve P-521"),
            (["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024", "-quiet"], "an RSA key"),
            (["genpkey", "-algorithm", "ED25519"], "an Ed25519 key"),
        ]
        try withTemporaryFolder { folder in
            for (index, kind) in kinds.enumerated() {
                let path = folder.appending(path: "\(index).pem").path
                let process = try run(arguments: ["openssl"] + kind.command + ["-out", path])
                #expect(process.code == 0, "\(process.output)")
                let pem = try String(contentsOfFile: path, encoding: .utf8)
                #expect(problem(of: pem).contains(kind.problem), "\(problem(of: pem))")
            }
        }
    }

    @Test func whatIsNoKeyIsSaidPrecisely() throws {
        let pem = Self.original.pemRepresentation
        let lines = pem.split(separator: "\n")
        let cases: [(text: String, problem: String)] = [
            ("", "is empty; is the variable or file that it comes from set?"),
            (" \n", "is empty; is the variable or file that it comes from set?"),
            ("/etc/keys/eckey.pem", "is a path, it seems; pass what is in the file."),
            ("eckey.pem", "is a path, it seems; pass what is in the file."),
            (
                "hello, world",
                "is neither PEM nor base64 nor hexadecimal; it should begin with -----BEGIN PRIVATE KEY-----."
            ),
            (
                Self.original.publicKey.pemRepresentation,
                "is the public half; that one goes into the CloudKit console, and the private one belongs here."
            ),
            (
                lines.dropLast().joined(separator: "\n"),
                "stops before its last line, -----END PRIVATE KEY-----; it was cut off."
            ),
            (lines.dropFirst().joined(separator: "\n"), "has lost its first line, -----BEGIN PRIVATE KEY-----."),
            (
                "\(lines[0])\n!!!!\n\(lines[lines.count - 1])",
                "holds something between its first and last line that is not base64."
            ),
            (
                "\(lines[0])\nAAAA\n\(lines[lines.count - 1])",
                "is in a PEM frame or DER, and the structure inside is damaged."
            ),
            (
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
                "is a certificate; the private key belongs here."
            ),
            (String(repeating: "ab", count: 31), "is 31 bytes long; a key on P-256 has 32."),
            (String(repeating: "0", count: 64), "is 32 bytes that are no number between 1 and the order of P-256."),
            (String(repeating: "f", count: 64), "is 32 bytes that are no number between 1 and the order of P-256."),
            (
                "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----",
                """
                is protected by a password. Decrypt it: \
                openssl pkcs8 -in key.pem -out plain.pem -nocrypt -topk8
                """
            ),
            (
                """
                -----BEGIN EC PRIVATE KEY-----
                Proc-Type: 4,ENCRYPTED
                DEK-Info: AES-128-CBC,00

                AAAA
                -----END EC PRIVATE KEY-----
                """,
                """
                is protected by a password. Decrypt it: \
                openssl pkcs8 -in key.pem -out plain.pem -nocrypt -topk8
                """
            ),
        ]
        for (text, expected) in cases {
            #expect(problem(of: text) == "The private key \(expected)")
        }
    }

    @Test func noPartOfABadKeyIsInItsError() throws {
        let secret = "MHcCAQEEIFhnmCpvO69QAhohRsQQGy3tHKoLoYviEoXChRc"
        let forms = [
            secret, "x" + secret, "-----BEGIN PRIVATE KEY-----\n\(secret)\n-----END PRIVATE KEY-----", "/\(secret)!",
            "-----BEGIN PRIVATE KEY-----\n\(secret)", "\(secret)\n-----END PRIVATE KEY-----",
        ]
        for text in forms {
            do {
                _ = try ServerToServerKey(text)
                Issue.record("\(text) was read")
            } catch {
                #expect(error.code == .invalidCredentials)
                #expect(!String(reflecting: error).contains(secret.prefix(12)))
            }
        }
    }

    private func problem(of text: String) -> String {
        do {
            _ = try ServerToServerKey(text)
            return "no problem"
        } catch {
            return error.message
        }
    }
}
