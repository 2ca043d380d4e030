import CloudKitEmulator
import CloudKitModel
import Foundation
import MistTesting
import Testing

struct ServerKeyTests {
    /// A key that was created for these tests; its private half is gone. OpenSSL made the signatures, over an empty
    /// body and the time of the test clock.
    private static let pem = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAElk/sBhGva7peyYtBgk25YtfitIWQ
        ziw5250YC5+GxgnfoBDXxIhjn+ipxcvomVLR79RX4nketYBvW9g6frem9Q==
        -----END PUBLIC KEY-----
        """
    private static let hashOfEmptyText =
        "MEUCIBfYGb7X2g9jLAuVqR0F9sGfrm0JA9JT5VRKxPMs3p8dAiEAwDkhPKiCKzvDt2gxgcKNbzo8FWSuvO9RRCiECo6FLJQ="
    private static let emptyHash =
        "MEUCIQD/pNnMAtt9B661mfQX+NxFzfBg6f/8JTCRl5RF4ANM6AIgR5wS8YLzvycYjcC379zIO4V+mw/wzXr27NwxnlJeEsE="
    private static let rawForm =
        "woQhjVQAmeOJ9txTGd4wgisHRS4Unj8ccHIv6Mps32FXXdMxdW7FpyAo+luTPROCu1Cg26oV80qNG/HDvdrZ3Q=="

    private func signature(_ keyID: String) -> ServerKeySignature {
        ServerKeySignature(
            keyID: keyID,
            date: "2023-11-14T22:13:20Z",
            body: [],
            subpath: "/database/1/iCloud.com.example.contract/development/public/zones/list?ckjsVersion=2",
            signature: Self.hashOfEmptyText
        )
    }

    private func outcome(_ world: World, _ signature: ServerKeySignature, container: String = World.container) -> String
    {
        refusal { try world.emulator.authenticate(Credentials(signature: signature), for: container, in: .development) }
    }

    private let failed = "AUTHENTICATION_FAILED Authentication failed"

    @Test func theVectorOfTheReferenceVerifies() throws {
        let clock = TestClock(Date(timeIntervalSince1970: 1_453_760_143))
        let emulator = try CloudKitEmulator(clock: { clock.now })
        let der = try #require(
            Data(
                base64Encoded: "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEExyuTxu38iAvdkBMeTMHu21cUGud3Tcwg7dcHf/"
                    + "xct4PbjABqtPlMJusFwYXe+k+YScAFCFrou/EtxjSe575mA=="
            )
        )
        let container = "iCloud.com.example.app"
        let keyID = try emulator.registerServerKey(.der(Array(der)), for: container)
        let signature = ServerKeySignature(
            keyID: keyID,
            date: "2016-01-25T22:15:43Z",
            body: Array(#"{"query":{"recordType":"Note"}}"#.utf8),
            subpath: "/database/1/iCloud.com.example.app/development/public/records/query",
            signature:
                "MEQCIFhnmC+pvO69Q+AhohRsQQGy3tHKoLoY+v/iEoXC/hRcAiAytfbJ2ZviQj0y9pml12pIvIbP+rfid83eIk7UIXv2Bw=="
        )
        #expect(keyID.wholeMatch(of: /[0-9a-f]{64}/) != nil)
        let authentication = try emulator.authenticate(
            Credentials(signature: signature),
            for: container,
            in: .development
        )
        #expect(authentication.caller == .serverKey(keyID: keyID))
        #expect(authentication.nextWebAuthToken == nil)
    }

    @Test func oneWrongByteAnywhereIsRefusedWithoutAHint() throws {
        let world = try World()
        let keyID = try world.emulator.registerServerKey(.pem(Self.pem), for: World.container)
        let right = signature(keyID)
        #expect(outcome(world, right) == "accepted")
        var wrong = right
        wrong.bodyDigest[31] ^= 1
        #expect(outcome(world, wrong) == failed)
        wrong = right
        wrong.subpath = wrong.subpath.replacingOccurrences(of: "Version=2", with: "Version=3")
        #expect(outcome(world, wrong) == failed)
        wrong = right
        wrong.date = "2023-11-14T22:13:21Z"
        #expect(outcome(world, wrong) == failed)
        wrong = right
        wrong.signature = Self.emptyHash
        #expect(outcome(world, wrong) == "accepted")  // the other form for an empty body
        wrong.signature = Self.rawForm
        #expect(outcome(world, wrong) == failed)
        wrong.signature = "no base64"
        #expect(outcome(world, wrong) == failed)
        wrong = right
        wrong.keyID = String(repeating: "0", count: 64)
        #expect(outcome(world, wrong) == failed)
        #expect(outcome(world, right, container: "iCloud.com.example.other") == failed)
    }

    @Test func theDateMustLieWithinTheWindow() throws {
        let world = try World()
        let keyID = try world.emulator.registerServerKey(.pem(Self.pem), for: World.container)
        let right = signature(keyID)
        for (seconds, expected) in [(599.0, "accepted"), (2, failed), (-1200, "accepted"), (-2, failed)] {
            world.clock.advance(by: seconds)
            #expect(outcome(world, right) == expected)
        }
        world.clock.advance(by: 601)
        for date in ["2023-11-14T22:13:20.5Z", "2023-11-14T22:13:20+00:00", "2023-13-14T22:13:20Z", "", "now"] {
            var wrong = right
            wrong.date = date
            #expect(outcome(world, wrong) == failed)
        }
    }

    @Test func aKeyHasOneIDInEachContainerWhateverItsForm() throws {
        let world = try World()
        let body = Self.pem.split(separator: "\n").dropFirst().dropLast().joined()
        let der = try #require(Data(base64Encoded: body))
        let keyID = try world.emulator.registerServerKey(.pem(Self.pem), for: World.container)
        #expect(try world.emulator.registerServerKey(.der(Array(der)), for: World.container) == keyID)
        #expect(try world.emulator.registerServerKey(.x963(Array(der.suffix(65))), for: World.container) == keyID)
        #expect(try world.emulator.registerServerKey(.pem(Self.pem), for: "iCloud.other") != keyID)
        #expect(
            refusal { try world.emulator.registerServerKey(.pem("rubbish"), for: World.container) }
                == "BAD_REQUEST the key is not a public key on the curve P-256"
        )
    }
}
