import Foundation
import OpenAPISwiftRuntime
import Peated
import PeatedStub
import Testing

struct UploadTests {
    /// A quarter of a megabyte without repetitions.
    private let picture = Data((0..<250_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) })

    @Test func aFileIsSentOnceMoreWhenTheTokenHadExpired() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).jpg")
        try picture.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let bench = try await TestBench.loggedIn()
        let tasting = try await bench.peated.add(NewTasting(bottleId: "b1"))
        await bench.stub.expireAccessTokens()

        let withPicture = try await bench.peated.upload(imageAt: file, caption: "Amber", to: tasting.id)

        #expect(withPicture.imageUrl == "/images/\(tasting.id).jpg")
        #expect(await bench.stub.images == [tasting.id: picture])
        #expect(
            await bench.transport.log
                == ["login 200", "addTasting 201", "uploadImage 401", "refresh 200", "uploadImage 200"]
        )
    }

    @Test func aStreamThatCanBeReadOnceIsNotSentTwiceButTheNextOneGoesThrough() async throws {
        func image() -> HTTPBody {
            let stream = AsyncStream { [picture] continuation in
                continuation.yield(ArraySlice(picture))
                continuation.finish()
            }
            return HTTPBody(stream, length: .unknown)
        }
        let bench = try await TestBench.loggedIn()
        let tasting = try await bench.peated.add(NewTasting(bottleId: "b1"))
        await bench.stub.expireAccessTokens()

        let message = "The session was renewed, but the body can be read only once. Send the request again."
        #expect(await outcome { try await bench.peated.upload(image(), to: tasting.id) } == "unauthorized: \(message)")
        #expect(await bench.stub.images.isEmpty)

        try await bench.peated.upload(image(), to: tasting.id)
        #expect(await bench.stub.images == [tasting.id: picture])
    }
}
