/// A cat that blinks, as YUV4MPEG2: a line of text, then each frame as a line of text and its pixels.
struct CatClip: AsyncSequence, Sendable {
    typealias Element = ArraySlice<UInt8>
    typealias Failure = Never

    var seconds: Int

    static let framesPerSecond = 10
    /// Each character is a square of this many pixels.
    static let scale = 16

    private static let header =
        "YUV4MPEG2 W\(face[0].count * scale) H\(face.count * scale) F\(framesPerSecond):1 Ip Cmono\n"
    private static let face = [
        "..X......X..",
        ".X.X....X.X.",
        ".X..XXXX..X.",
        ".X........X.",
        ".X..o..o..X.",
        ".X...XX...X.",
        ".X..X..X..X.",
        "..XXXXXXXX..",
    ]

    /// The size of the whole clip.
    var byteCount: Int64 {
        Int64(Self.header.utf8.count + seconds * Self.framesPerSecond * Self.frame(isBlinking: false).count)
    }

    private static func frame(isBlinking: Bool) -> [UInt8] {
        var bytes = Array("FRAME\n".utf8)
        for line in face {
            let row = line.utf8.flatMap { character -> [UInt8] in
                let isDark = character == UInt8(ascii: "X") || character == UInt8(ascii: "o") && !isBlinking
                return Array(repeating: isDark ? 16 : 235, count: scale)
            }
            for _ in 0..<scale { bytes += row }
        }
        return bytes
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        let frames: Int
        var sent = -1

        mutating func next() async -> ArraySlice<UInt8>? {
            defer { sent += 1 }
            if sent < 0 { return ArraySlice(CatClip.header.utf8) }
            return sent < frames ? CatClip.frame(isBlinking: sent % 20 < 3)[...] : nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(frames: seconds * Self.framesPerSecond)
    }
}
