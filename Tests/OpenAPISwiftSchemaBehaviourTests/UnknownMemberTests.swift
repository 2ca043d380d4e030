import OpenAPISwiftRuntime
import StreamingJSON
import Testing

/// A type of this module, which the configuration uses instead of a schema.
extension Shipment {
    struct Mass: Hashable, Sendable, JSONBackedCodable {
        var grams: Int

        init(grams: Int) { self.grams = grams }

        init(json reader: inout JSONReader) throws(JSONError) { grams = try reader.readInteger() }

        func write(json writer: inout JSONWriter) { writer.write(grams) }
    }
}

/// Types that keep the members for which they have no property. Only the schemas of the document are generated.
struct UnknownMemberTests {
    private func text(_ value: some JSONWritable) throws -> String {
        String(decoding: try JSONWriter.bytes(of: value), as: UTF8.self)
    }

    private func reread<T: JSONReadable & JSONWritable>(_ type: T.Type, _ json: String) throws -> String {
        try text(try JSONReader.read(type, from: json))
    }

    @Test func anObjectIsChangedWithoutLoss() throws {
        let json = #"{"id":"A","weight":1.5,"crate":{"wood":"oak"}}"#
        var shipment = try JSONReader.read(Shipment.self, from: json)
        let crate = shipment.unknownMembers["crate"]  // {"wood":"oak"}
        shipment.weight = 2
        let sent = String(decoding: try JSONWriter.bytes(of: shipment), as: UTF8.self)
        // {"weight":2.0,"id":"A","crate":{"wood":"oak"}}

        #expect(crate?.description == #"{"wood":"oak"}"#)
        #expect(sent == #"{"weight":2.0,"id":"A","crate":{"wood":"oak"}}"#)
    }

    @Test func unknownMembersAreKeptInOrderBehindTheKnown() throws {
        let json = #"{"zone":{"a":[1, 2]},"id":"A","weight":1.5,"code":12345678901234567890}"#
        var shipment = try JSONReader.read(Shipment.self, from: json)
        #expect(shipment.unknownMembers.map(\.name) == ["zone", "code"])
        #expect(shipment.unknownMembers["zone"]?.description == #"{"a":[1, 2]}"#)
        #expect(try text(shipment) == #"{"weight":1.5,"id":"A","zone":{"a":[1, 2]},"code":12345678901234567890}"#)
        shipment.unknownMembers["zone"] = nil
        shipment.unknownMembers["late"] = try JSONRawValue(parsing: "true")
        #expect(try text(shipment) == #"{"weight":1.5,"id":"A","code":12345678901234567890,"late":true}"#)
        #expect(
            shipment
                == Shipment(
                    weight: 1.5,
                    id: "A",
                    unknownMembers: [
                        "code": try JSONRawValue(parsing: "12345678901234567890"),
                        "late": try JSONRawValue(parsing: "true"),
                    ]
                )
        )
    }

    @Test func unknownMembersCountInComparisons() throws {
        let plain = Shipment(id: "A")
        let other = try JSONReader.read(Shipment.self, from: #"{"id":"A","x":1}"#)
        #expect(plain != other)
        #expect(other == (try JSONReader.read(Shipment.self, from: #"{"x":1.0,"id":"A"}"#)))
        #expect(Set([plain, other, plain]).count == 2)
    }

    @Test func nullsOfKnownMembersAreWrittenWhileThePropertyIsNil() throws {
        let json = #"{"id":"A","state":null,"stops":null}"#
        var shipment = try JSONReader.read(Shipment.self, from: json)
        #expect(try text(shipment) == json)
        #expect(shipment == Shipment(id: "A"))
        shipment.state = .packed
        #expect(try text(shipment) == #"{"id":"A","state":"PACKED","stops":null}"#)
        let container = #"{"id":"A","part_of":{"id":"B","state":null,"size":{"height":null}}}"#
        #expect(try reread(Shipment.self, container) == container)
    }

    @Test func ofAKeyThatComesTwiceTheLastCounts() throws {
        #expect(
            try reread(Shipment.self, #"{"id":"A","x":1,"weight":2,"weight":null,"x":2}"#)
                == #"{"weight":null,"id":"A","x":2}"#
        )
    }

    @Test func whatMustBeThereIsNeverKept() throws {
        #expect(throws: JSONError.self) { try reread(Shipment.self, #"{"id":null}"#) }
        #expect(throws: JSONError.self) { try reread(Shipment.self, #"{"weight":1}"#) }
        // The value has another type than the document says. Only `keepAll` keeps such values.
        #expect(throws: JSONError.self) { try reread(Shipment.self, #"{"id":"A","weight":"heavy"}"#) }
        // Values that are not valid JSON are not kept.
        #expect(throws: JSONError.self) { try reread(Address.self, #"{"x":tru}"#) }
        #expect(throws: JSONError.self) { try reread(Address.self, #"{"street":[1,}"#) }
    }

    @Test func keepAllKeepsValuesOfOtherKinds() throws {
        let json = #"{"colour":"blue","street":7,"country":{"name":{"x":[]}},"lines":["a",1],"x":0}"#
        var address = try JSONReader.read(Address.self, from: json)
        #expect(address.street == nil && address.colour == nil && address.country == nil && address.lines == nil)
        #expect(address.unknownMembers.map(\.name) == ["colour", "street", "country", "lines", "x"])
        #expect(try text(address) == json)
        address.unknownMembers["street"] = nil
        address.street = "Main"
        #expect(
            try text(address)
                == #"{"street":"Main","colour":"blue","country":{"name":{"x":[]}},"lines":["a",1],"x":0}"#
        )
    }

    @Test func oneSchemaMayBeAnException() throws {
        #expect(try reread(Stop.self, #"{"town":"X","x":1,"hours":null}"#) == #"{"town":"X"}"#)
        #expect(
            try reread(Shipment.self, #"{"id":"A","stops":[{"town":"X","x":1}]}"#)
                == #"{"id":"A","stops":[{"town":"X"}]}"#
        )
    }

    @Test func whatTheSchemaSaysItselfGoesFirst() throws {
        let tags = try JSONReader.read(Tags.self, from: #"{"first":"a","second":"b"}"#)
        #expect(tags == Tags(first: "a", additionalProperties: ["second": "b"]))
        #expect(throws: JSONError.self) { try reread(Sealed.self, #"{"seal":"a","x":1}"#) }
        #expect(try reread(Mark.self, #"{"mark":1}"#) == #"{"mark":1}"#)
    }

    @Test func partsOfOneObjectDoNotWriteEachOthersMembers() throws {
        let json = #"{"currency":"EUR","id":"A","value":5,"x":1}"#
        var insured = try JSONReader.read(Insured.self, from: json)
        #expect(try text(insured) == json)
        insured.value2.value = 6
        insured.value2.currency = nil
        insured.value1.id = "B"
        #expect(try text(insured) == #"{"id":"B","value":6,"x":1}"#)
    }

    @Test func alternativesAreTriedInOrder() throws {
        #expect(try reread(Anything.self, #"{"id":"A","x":null}"#) == #"{"id":"A","x":null}"#)
        #expect(try reread(Anything.self, #"{"mark":1}"#) == #"{"mark":1}"#)
    }

    @Test func extensibleEnumerationsAreOpen() throws {
        typealias State = Shipment.State
        #expect(State.allCases == [.packed, .onItsWay, .private])
        let lost: State = "LOST"
        #expect("\(lost)" == "LOST")
        #expect(try reread(Shipment.self, #"{"id":"A","state":"LOST"}"#) == #"{"id":"A","state":"LOST"}"#)
        #expect(throws: JSONError.self) { try reread(Colour.self, #""blue""#) }
    }

    @Test func typesOfTheModuleTakeThePlaceOfSchemas() throws {
        #expect(try JSONReader.read(Weight.self, from: #"{"net":5}"#) == Weight(net: Shipment.Mass(grams: 5)))
    }
}
