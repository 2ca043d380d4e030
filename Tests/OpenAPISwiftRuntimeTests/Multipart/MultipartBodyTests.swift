import HTTPTypes
import OpenAPISwiftRuntime
import TestSupport
import Testing

struct MultipartBodyTests {

    @Test func bodiesInMemoryCanBeReadAgain() async throws {
        for body in [MultipartBody([1, 2]), [1, 2], MultipartBody(1...2)] {
            #expect(body.iterationBehavior == .multiple)
            for _ in 0..<2 { #expect(try await body.collected() == [1, 2]) }
        }
        let empty: MultipartBody<Int> = []
        #expect(try await empty.collected() == [])
    }

    @Test func streamsAreReadOnce() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        let (throwing, throwingContinuation) = AsyncThrowingStream.makeStream(of: Int.self)
        for number in 1...2 {
            continuation.yield(number)
            throwingContinuation.yield(number)
        }
        continuation.finish()
        throwingContinuation.finish()
        let once = MultipartBody(Arriving(elements: [1, 2]), iterationBehavior: .single)
        for body in [MultipartBody(stream), MultipartBody(throwing), once] {
            #expect(body.iterationBehavior == .single)
            #expect(try await body.collected() == [1, 2])
            let error = await #expect(throws: HTTPBodyError.self) { try await body.collected() }
            #expect(error?.code == .alreadyIterated)
        }
        let again = MultipartBody(Arriving(elements: [1, 2]), iterationBehavior: .multiple)
        for _ in 0..<2 { #expect(try await again.collected() == [1, 2]) }
    }

    @Test func errorsOfTheSequenceReachTheReader() async throws {
        let body = MultipartBody(Arriving(elements: [1], error: CancellationError()), iterationBehavior: .single)
        var iterator = body.makeAsyncIterator()
        #expect(try await iterator.next() == 1)
        await #expect(throws: CancellationError.self) { try await iterator.next() }
    }

    @Test func bodiesAreEqualWhenTheyAreTheSameObject() {
        let body: MultipartBody<Int> = [1]
        let other: MultipartBody<Int> = [1]
        #expect(body == body)
        #expect(body != other)
        #expect(Set([body, body, other]).count == 2)
    }

    // MARK: Parts

    @Test func aPartKeepsItsNameInContentDisposition() {
        var part = MultipartRawPart(name: "a", filename: "b.txt", headerFields: [.contentType: "text/plain"], body: "x")
        #expect(
            part.headerFields == [
                .contentType: "text/plain", .contentDisposition: #"form-data; filename="b.txt"; name="a""#,
            ]
        )
        part.name = "c"
        part.filename = nil
        #expect(part.headerFields[.contentDisposition] == #"form-data; name="c""#)
        part.headerFields[.contentDisposition] = #"Attachment; NAME=plain; size=3"#
        #expect((part.name, part.filename) == ("plain", nil))
        part.filename = "d"
        #expect(part.headerFields[.contentDisposition] == #"attachment; filename="d"; name="plain"; size="3""#)
        part.headerFields = [:]
        #expect((part.name, part.filename) == (nil, nil))
        part.name = "e"
        #expect(part.headerFields == [.contentDisposition: #"form-data; name="e""#])
        let unnamed = MultipartRawPart(name: nil, headerFields: [:], body: "")
        #expect(unnamed.headerFields == [.contentDisposition: "form-data"])
    }

    @Test(
        arguments: [
            (#"form-data; name="a""#, "a", nil),
            (#"form-data; name=a; filename=b"#, "a", "b"),
            (#"form-data;name="a;b=c";filename="d e""#, "a;b=c", "d e"),
            (#"form-data; name="a\"b\\c"; filename="C:\dir\file""#, #"a"b\c"#, #"C:\dir\file"#),
            (#"form-data; name="a" ; filename = "b" ;"#, "a", "b"),
            (#"form-data; name="é🐈""#, "é🐈", nil),
            (#"form-data; name=""; filename="""#, "", ""),
            (#"form-data; filename*=UTF-8''%e2%82%ac%20a; name="a"; filename="EURO a""#, "a", "€ a"),
            (#"form-data; name="a"; filename="b"; filename*=iso-8859-1'en'%A3"#, "a", "£"),
            (#"form-data; name="a"; filename="b"; filename*=utf-16''%A3"#, "a", "b"),
            (#"form-data; name="a"; filename="b"; filename*=UTF-8''%ff"#, "a", "b"),
            (#"form-data; name="a"; name="b""#, "a", nil),
            ("form-data", nil, nil),
            (#"form-data; name="a"#, nil, nil),
            (#"form-data; name="a" b"#, nil, nil),
            (#"form-data; name"#, nil, nil),
            ("", nil, nil),
        ] as [(String, String?, String?)]
    )
    func contentDispositionIsRead(text: String, name: String?, filename: String?) {
        let part = MultipartRawPart(headerFields: [.contentDisposition: text], body: "")
        #expect((part.name, part.filename) == (name, filename))
    }

    @Test func anyNameComesBackUnlessItHoldsControlCharacters() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        let letters = Array("ab \"\\;=%'*,é🐈\t")
        for _ in 0..<500 {
            let name = String(
                (0..<Int.random(in: 0...8, using: &generator)).map { _ in
                    letters.randomElement(using: &generator) ?? "a"
                }
            )
            let part = MultipartRawPart(name: name, filename: name, headerFields: [:], body: "")
            #expect((part.name, part.filename) == (name, name), "seed \(seed)")
        }
        let part = MultipartRawPart(name: "a\r\nx: y\u{0}", headerFields: [:], body: "")
        #expect(part.headerFields == [.contentDisposition: #"form-data; name="a%0D%0Ax: y%00""#])
    }

    // MARK: Boundaries

    @Test func boundariesAreConstantOrRandom() {
        #expect(ConstantMultipartBoundaryGenerator().makeBoundary() == "__X_SWIFT_OPENAPI_GENERATOR_BOUNDARY__")
        #expect(ConstantMultipartBoundaryGenerator(boundary: "b").makeBoundary() == "b")
        let generators: [any MultipartBoundaryGenerator] = [.constant, .random]
        #expect(generators[0].makeBoundary() == generators[0].makeBoundary())
        let boundaries = (0..<10).map { _ in generators[1].makeBoundary() }
        #expect(Set(boundaries).count == 10)
        for boundary in boundaries {
            #expect(boundary.hasPrefix("__X_SWIFT_OPENAPI_"))
            #expect(boundary.utf8.count == 38)
            #expect(boundary.utf8.suffix(20).allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        }
        let short = RandomMultipartBoundaryGenerator(boundaryPrefix: "p", randomNumberSuffixLength: 3).makeBoundary()
        #expect(short.hasPrefix("p") && short.utf8.count == 4)
        #expect(Configuration().multipartBoundaryGenerator is RandomMultipartBoundaryGenerator)
    }
}
