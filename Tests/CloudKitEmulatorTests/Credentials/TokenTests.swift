import CloudKitEmulator
import CloudKitModel
import CloudKitWebServices
import MistTesting
import Testing

struct TokenTests {
    private let failed = "AUTHENTICATION_FAILED Authentication failed"
    private let required = "AUTHENTICATION_REQUIRED request needs authorization"

    /// The caller that the credentials identify, or the refusal.
    private func caller(
        _ world: World,
        _ apiToken: String?,
        _ webAuthToken: String? = nil,
        container: String = World.container
    ) -> String {
        var caller = ""
        let outcome = refusal {
            let authentication = try world.emulator.authenticate(
                Credentials(apiToken: apiToken, webAuthToken: webAuthToken),
                for: container,
                in: .development
            )
            caller = "\(authentication.caller)"
        }
        return outcome == "accepted" ? caller : outcome
    }

    @Test func anAPITokenMustBeRegisteredForTheContainer() throws {
        let world = try World()
        let token = try world.emulator.registerAPIToken(for: World.container)
        #expect(token.wholeMatch(of: /[0-9a-f]{64}/) != nil)
        #expect(caller(world, token) == "anonymous")
        for wrong in [nil, "", "x", String(repeating: "0", count: 64), token.uppercased()] {
            #expect(caller(world, wrong) == failed)
        }
        #expect(caller(world, token, container: "iCloud.com.example.other") == failed)
        #expect(
            refusal { try world.emulator.registerAPIToken("short", for: World.container) }
                == "BAD_REQUEST an API token has 64 lower-case hexadecimal digits"
        )
    }

    @Test func aWebTokenIsItsUserUntilItExpires() throws {
        let world = try World()
        let api = try world.emulator.registerAPIToken(for: World.container)
        let ann = "user(\"\(world.ann)\")"
        let short = try world.emulator.issueWebAuthToken(for: world.ann)
        let long = try world.emulator.issueWebAuthToken(for: world.ann, keepsSignedIn: true)
        #expect(caller(world, api, short) == ann)
        #expect(caller(world, nil, short) == failed)
        for wrong in ["", "garbage", String(short.dropLast(4)), "B" + short.dropFirst()] {
            #expect(caller(world, api, wrong) == required)
        }
        world.clock.advance(by: 30 * 60)
        #expect(caller(world, api, short) == required)
        #expect(caller(world, api, long) == ann)
        world.clock.advance(by: 14 * 24 * 60 * 60)
        #expect(caller(world, api, long) == required)
    }

    @Test func everyReplyBringsTheNextTokenAndTheOldStaysGood() throws {
        let world = try World()
        let api = try world.emulator.registerAPIToken(for: World.container)
        let first = try world.emulator.issueWebAuthToken(for: world.ann)
        var tokens = [first]
        for _ in 0..<3 {
            let next = try world.emulator.authenticate(
                Credentials(apiToken: api, webAuthToken: tokens.last),
                for: World.container,
                in: .development
            )
            tokens.append(try #require(next.nextWebAuthToken))
        }
        #expect(Set(tokens).count == 4)
        #expect(tokens.allSatisfy { caller(world, api, $0) == "user(\"\(world.ann)\")" })
    }

    @Test func theConfigurationMakesTokensSingleUse() throws {
        let world = try World {
            $0.webAuthTokens.areSingleUse = true
            $0.webAuthTokens.rejection = .authenticationFailed
        }
        let api = try world.emulator.registerAPIToken(for: World.container)
        let first = try world.emulator.issueWebAuthToken(for: world.ann)
        let authentication = try world.emulator.authenticate(
            Credentials(apiToken: api, webAuthToken: first),
            for: World.container,
            in: .development
        )
        #expect(caller(world, api, first) == failed)
        #expect(caller(world, api, authentication.nextWebAuthToken) == "user(\"\(world.ann)\")")
    }

    @Test func aTokenCanBeForOneContainer() throws {
        let world = try World()
        let other = "iCloud.com.example.other"
        let api = try world.emulator.registerAPIToken(for: World.container)
        try world.emulator.registerAPIToken(api, for: other)
        let token = try world.emulator.issueWebAuthToken(for: world.ann, container: World.container)
        #expect(caller(world, api, token) == "user(\"\(world.ann)\")")
        #expect(caller(world, api, token, container: other) == required)
    }

    @Test func tokensOfAnotherEmulatorAreWorthNothing() throws {
        let world = try World()
        let api = try world.emulator.registerAPIToken(for: World.container)
        let stranger = try CloudKitEmulator()
        let user = try stranger.createUser(userRecordName: world.ann)
        #expect(caller(world, api, try stranger.issueWebAuthToken(for: user)) == required)
        #expect(
            refusal { try world.emulator.issueWebAuthToken(for: "_" + String(repeating: "0", count: 32)) }.hasPrefix(
                "NOT_FOUND"
            )
        )
    }

    @Test func whatIsTooLongIsRefusedBeforeItIsStored() throws {
        let world = try World()
        let token = try world.emulator.registerAPIToken(for: World.container)
        let long = String(repeating: "n", count: 256)
        #expect(
            caller(world, token, container: long) == "BAD_REQUEST a container identifier has at most 255 characters"
        )
        #expect(caller(world, token + long) == failed)
        #expect(caller(world, token, String(repeating: "A", count: 1_000_000)) == required)
        let uploads = [AssetUploadRequest(recordType: long, fieldName: "f"), .init(recordType: "T", fieldName: long)]
        for upload in uploads {
            #expect(
                refusal { try world.asAnn().requestAssetUploads([upload], zoneID: World.notes) }
                    == "BAD_REQUEST '\(long)' is not a valid name"
            )
        }
    }
}
