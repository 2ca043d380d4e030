import Crypto
import Foundation
import TestSupport
import Testing

@testable import MistKit

struct ServerToServerKeyTests {
    private static let original = P256.Signing.PrivateKey()

    /// The same key in every form that the parser accepts.
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
            "PKCS #8 in single quotation marks, escaped twice": "'\(pkcs8.replacing("\n", with: "\\\\n"))'",
            "PKCS #8 without its first line": pkcs8.split(separator: "\n").dropFirst().joined(separator: "\n"),
            "PKCS #8 without its last line": pkcs8.split(separator: "\n").dropLast().joined(separator: "\n"),
            "PKCS #8 without either": pkcs8.split(separator: "\n").dropFirst().dropLast().joined(separator: "\r\n"),
            "PKCS #8 with a last line that was cut off":
                pkcs8.replacing("-----END PRIVATE KEY-----", with: "-----END PRI"),
            "PKCS #8 without padding": pkcs8.replacing("=", with: ""),
            "PKCS #8 behind a certificate":
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n\(pkcs8)",
            "raw bytes in hexadecimal": raw.map { String(format: "%02x", $0) }.joined(),
            "raw bytes in capital hexadecimal": raw.map { String(format: "%02X", $0) }.joined() + "\n",
            "raw bytes in base64": raw.base64EncodedString(),
            "DER in base64": der.base64EncodedString(),
            "DER in the alphabet for addresses": der.base64EncodedString().replacing("+", with: "-")
                .replacing("/", with: "_").replacing("=", with: ""),
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
            // A key as on Apple's page, with the name of the curve in front, and the same key converted.
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
                "\(lines[0])\n\(lines[1])\n",
                "stops before its last line, -----END PRIVATE KEY-----; it was cut off: 48 of its 138 bytes are there."
            ),
            (
                "\(lines[0])\n\(lines[1])\n\(lines[lines.count - 1])",
                "was cut off: 48 of its 138 bytes are there."
            ),
            (
                "\(lines[0])\n\(lines[1].dropLast(3))\n\(lines[lines.count - 1])",
                "was cut off: base64 does not end after 61 characters."
            ),
            (lines[0] + "\n", "stops before its last line, -----END PRIVATE KEY-----; it was cut off."),
            (
                "\(lines[0])\n\(lines[1])\n  12345!!!\n\(lines[lines.count - 1])",
                "holds something that is not base64, in line 3 at character 8."
            ),
            ("\(lines[1])\n\(lines[2].dropLast(8))", "was cut off: 90 of its 138 bytes are there."),
            (
                Self.original.derRepresentation.base64EncodedString().dropLast(4) + "!",
                "holds something that is not base64, in line 1 at character 181."
            ),
            (
                (Self.original.derRepresentation + [0, 1]).base64EncodedString(),
                "has 2 bytes after its end. Check that it was pasted once."
            ),
            (
                Self.original.publicKey.derRepresentation.base64EncodedString(),
                "is the public half; that one goes into the CloudKit console, and the private one belongs here."
            ),
            (
                Self.original.publicKey.x963Representation.base64EncodedString(),
                "is the public half; that one goes into the CloudKit console, and the private one belongs here."
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
            (String(repeating: "0", count: 64), "is 32 bytes that are not a number between 1 and the order of P-256."),
            (String(repeating: "f", count: 64), "is 32 bytes that are not a number between 1 and the order of P-256."),
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

    private static let hasPythonCryptography = (try? run("python3", "-c", "import cryptography").code) == 0

    @Test(.enabled(if: hasPythonCryptography, "Python's cryptography is not installed"))
    func keysOfPythonsCryptographyAreReadOrNamed() throws {
        let script = """
            from cryptography.hazmat.primitives import serialization as s
            from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
            def show(data): print(data.decode().strip().replace("\\n", "\\\\n"))
            def put(key, encoding, format, protection=s.NoEncryption()):
                data = key.private_bytes(encoding, format, protection)
                show(data if encoding == s.Encoding.PEM else data.hex().encode())
            key = ec.generate_private_key(ec.SECP256R1())
            sec1, pkcs8 = s.PrivateFormat.TraditionalOpenSSL, s.PrivateFormat.PKCS8
            show(key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))
            for encoding in (s.Encoding.PEM, s.Encoding.DER):
                for format in (sec1, pkcs8): put(key, encoding, format)
            print("%064x" % key.private_numbers().private_value)
            secret = s.BestAvailableEncryption(b"password")
            put(key, s.Encoding.PEM, sec1, secret)
            put(key, s.Encoding.PEM, pkcs8, secret)
            put(key, s.Encoding.DER, pkcs8, secret)
            put(ec.generate_private_key(ec.SECP384R1()), s.Encoding.PEM, sec1)
            put(ed25519.Ed25519PrivateKey.generate(), s.Encoding.PEM, pkcs8)
            put(rsa.generate_private_key(65537, 2048), s.Encoding.PEM, pkcs8)
            """
        let printed = try run("python3", "-c", script)
        try #require(printed.code == 0, "\(printed.output)")
        let lines = printed.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 12)
        let publicKey = lines[0].replacing("\\n", with: "\n")
        for text in lines[1...5] {
            #expect(try ServerToServerKey(text).publicKeyPEM == publicKey)
        }
        #expect(problem(of: lines[0]).contains("is the public half"))
        let problems = lines[6...].map(problem)
        #expect(problems.prefix(3).allSatisfy { $0.contains("is protected by a password. Decrypt it: openssl") })
        #expect(problems[3].contains("a key on the curve P-384"))
        #expect(problems[4].contains("an Ed25519 key"))
        #expect(problems[5].contains("an RSA key"))
    }

    @Test(.enabled(if: hasOpenSSL, "openssl is not installed"))
    func aCertificateAndAnEncryptedKeyOfOpensslAreNamed() throws {
        try withTemporaryFolder { folder in
            let (key, certificate, secret) = (
                folder.path + "/key.pem", folder.path + "/certificate.pem", folder.path + "/secret.pem"
            )
            _ = try run("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key)
            let made = try run(
                "openssl",
                "req",
                "-x509",
                "-new",
                "-key",
                key,
                "-subj",
                "/CN=example",
                "-days",
                "2",
                "-out",
                certificate
            )
            #expect(made.code == 0, "\(made.output)")
            _ = try run("openssl", "pkcs8", "-topk8", "-in", key, "-passout", "pass:word", "-out", secret)
            let pem = try String(contentsOfFile: certificate, encoding: .utf8)
            let lines = pem.split(separator: "\n").map(String.init)
            #expect(problem(of: pem).contains("is a certificate; the private key belongs here."))
            let bare = lines.dropFirst().dropLast().joined(separator: "\n")
            #expect(problem(of: bare).contains("is a certificate; the private key belongs here."))
            #expect(
                problem(of: try String(contentsOfFile: secret, encoding: .utf8)).contains("is protected by a password.")
            )
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
            } catch let error as CloudKitError {
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
            return (error as? CloudKitError)?.message ?? "\(error)"
        }
    }
}
