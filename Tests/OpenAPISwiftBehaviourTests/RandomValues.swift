import OpenAPISwiftRuntime
import TestSupport

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Random values of every kind of schema. The same seed gives the same values.
struct RandomValues {
    private var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    private mutating func next() -> UInt64 { generator.next() }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func one<Element>(of elements: [Element]) -> Element { elements[below(elements.count)] }

    /// A value in two of three cases, otherwise `nil`.
    mutating func maybe<Value>(_ make: (inout RandomValues) -> Value) -> Value? {
        below(3) == 0 ? nil : make(&self)
    }

    mutating func list<Value>(from least: Int = 0, _ make: (inout RandomValues) -> Value) -> [Value] {
        var values: [Value] = []
        for _ in 0..<(least + below(4)) { values.append(make(&self)) }
        return values
    }

    mutating func map<Value>(_ make: (inout RandomValues) -> Value) -> [String: Value] {
        var values: [String: Value] = [:]
        for _ in 0..<below(4) { values[text()] = make(&self) }
        return values
    }

    // MARK: Scalars

    private static let pieces: [String] = [
        "a", "Z", "0", " ", "/", "\\", "\"", "'", "\n", "\r", "\t", "\u{0}", "\u{1F}", "\u{7F}", "é", "e\u{301}", "日",
        "😀",
        "\u{2028}", "\u{FEFF}", "%", "%20", "+", "&", "=", ",", ";", ":", "?", "#", "[", "]", "{", "}", "|", "~", ".",
        "-",
    ]

    mutating func text(from least: Int = 0) -> String {
        var text = ""
        for _ in 0..<(least + below(6)) { text += one(of: Self.pieces) }
        return text
    }

    mutating func whole() -> Int { one(of: [0, 1, -1, .max, .min, Int(truncatingIfNeeded: next())]) }

    /// A number with a fraction, so that it is not read as an integer.
    mutating func number() -> Double {
        let number = Double(bitPattern: next())
        return number.isFinite && number != number.rounded() ? number : 0.1 + Double(below(1000))
    }

    mutating func moment() -> Date { Date(timeIntervalSince1970: Double(below(4_000_000_000))) }

    mutating func bytes() -> Base64EncodedData { .init(list { UInt8($0.below(256)) }) }

    private mutating func free(_ depth: Int) -> (any Sendable)? {
        switch below(depth > 2 ? 5 : 7) {
        case 0: return nil
        case 1: return below(2) == 0
        case 2: return whole()
        case 3: return number()
        case 4: return text()
        case 5: return list { $0.free(depth + 1) } as [(any Sendable)?]
        default: return map { $0.free(depth + 1) } as [String: (any Sendable)?]
        }
    }

    // MARK: Schemas

    mutating func point() -> Schemas.Point { .init(x: whole(), y: whole()) }

    mutating func note() -> Schemas.Note { .init(text: text(), weight: maybe { $0.number() }) }

    mutating func colour() -> Schemas.Colour { one(of: Schemas.Colour.allCases) }

    private mutating func chain(_ depth: Int = 0) -> Schemas.Chain {
        .init(id: whole(), parent: depth > 5 ? nil : maybe { $0.chain(depth + 1) })
    }

    private mutating func tree(_ depth: Int = 0) -> Schemas.Tree {
        if depth > 4 || below(3) == 0 { return .case2(text()) }
        return .Branch(.init(left: tree(depth + 1), right: maybe { $0.tree(depth + 1) }))
    }

    private mutating func family(_ depth: Int = 0) -> Schemas.Family {
        if depth > 2 { return .init(name: text()) }
        return .init(
            name: text(),
            children: maybe { $0.list { $0.family(depth + 1) } },
            byName: maybe { .init(additionalProperties: $0.map { $0.family(depth + 1) }) }
        )
    }

    private mutating func hen(_ depth: Int = 0) -> Schemas.Hen {
        if depth > 3 { return .init() }
        return .init(egg: maybe { .init(hen: $0.maybe { $0.hen(depth + 1) }, weight: $0.maybe { $0.whole() }) })
    }

    private mutating func doll(_ depth: Int = 0) -> Schemas.Doll {
        .init(
            value1: .init(inner: depth > 3 ? nil : maybe { $0.doll(depth + 1) }),
            value2: .init(size: maybe { $0.whole() })
        )
    }

    private mutating func choice() -> Schemas.Choice {
        switch below(4) {
        case 0: .case1(text())
        case 1: .case2(whole())
        case 2: .Note(note())
        default: .case4(.init(c: whole()))
        }
    }

    private mutating func amount() -> Schemas.Amount {
        switch below(4) {
        case 0: .case1(whole())
        case 1: .case2(number())
        case 2: .case3(below(2) == 0)
        default: .case4(list { $0.text() })
        }
    }

    private mutating func either() -> Schemas.Either {
        switch below(3) {
        case 0: .init(value1: point())
        case 1: .init(value2: note())
        default: .init(value1: point(), value2: note())
        }
    }

    private mutating func some() -> Schemas.SomeKinds {
        switch below(3) {
        case 0: .init(value1: .init())
        case 1: .init(value2: text())
        default: .init(value3: list { $0.whole() })
        }
    }

    private mutating func pet() -> Schemas.Pet {
        switch below(3) {
        case 0: .tom_hyphen_cat(.init(kind: "tom-cat", lives: maybe { $0.whole() }))
        case 1: .Kitten(.init(kind: "Kitten", lives: maybe { $0.whole() }))
        default: .dog(.init(kind: "dog", tricks: maybe { $0.list { $0.text() } }))
        }
    }

    private mutating func scalars(of specimen: inout Schemas.Specimen) {
        specimen.text = maybe { $0.text() }
        specimen.day = maybe { $0.text() }
        specimen.moment = maybe { $0.moment() }
        specimen.bytes = maybe { $0.bytes() }
        specimen.whole = maybe { $0.whole() }
        specimen.small = maybe { Int32(truncatingIfNeeded: $0.next()) }
        specimen.big = maybe { Int64($0.whole()) }
        specimen.number = maybe { $0.number() }
        specimen.single = maybe { Float($0.below(1_000_000)) / 7 }
        specimen.flag = maybe { $0.below(2) == 0 }
        specimen.anything = maybe { try? .init(unvalidatedValue: $0.free(0)) } ?? nil
        specimen.object = maybe { try? .init(unvalidatedValue: $0.map { $0.free(1) }) } ?? nil
        specimen.list = maybe { try? .init(unvalidatedValue: $0.list { $0.free(1) }) } ?? nil
        specimen.fixed = maybe { _ in .only_hyphen_this }
        specimen.colour = maybe { $0.colour() }
        specimen.rank = maybe { $0.one(of: Schemas.Rank.allCases) }
        specimen.blank = maybe { $0.one(of: Schemas.Blank.allCases) }
        specimen.openColour = maybe { .init(value2: "?" + $0.text()) }
        // A null and a missing value are the same for this property.
        if specimen.anything?.value == nil { specimen.anything = nil }
    }

    private mutating func objects(of specimen: inout Schemas.Specimen) {
        specimen.maybe = maybe {
            .init(
                needed: $0.maybe { $0.text() },
                referred: $0.maybe { $0.text() },
                plain: $0.text(),
                preset: $0.whole(),
                absent: $0.maybe { $0.text() }
            )
        }
        specimen.lists = maybe {
            .init(
                gaps: $0.maybe { $0.list { $0.maybe { $0.text() } } },
                nested: $0.maybe { $0.list { $0.list { $0.whole() } } },
                objects: $0.maybe { $0.list { .init(a: $0.maybe { $0.whole() }) } },
                enums: $0.maybe { $0.list { $0.one(of: [.p, .q]) } },
                moments: $0.maybe { $0.list { $0.moment() } },
                maps: $0.maybe { $0.list { .init(additionalProperties: $0.map { $0.whole() }) } }
            )
        }
        specimen.plain = maybe { $0.point() }
        specimen.closed = maybe { .init(a: $0.whole()) }
        specimen.counts = maybe { .init(additionalProperties: $0.map { $0.whole() }) }
        specimen.gaps = maybe { .init(additionalProperties: $0.map { $0.maybe { $0.text() } }) }
        specimen.points = maybe { .init(additionalProperties: $0.map { $0.point() }) }
        specimen.named = maybe { .init(a: $0.text(), additionalProperties: ["other": .init(n: $0.whole())]) }
        specimen.names = maybe {
            .init(_dollar_type: $0.text(), _init: $0.text(), quo_quot_te: $0.text(), v0: $0.text())
        }
    }

    private mutating func compositions(of specimen: inout Schemas.Specimen) {
        specimen.both = maybe { .init(value1: $0.point(), value2: .init(z: $0.whole(), w: $0.maybe { $0.whole() })) }
        specimen.wrapped = maybe { .init(value1: $0.text()) }
        specimen.either = maybe { $0.either() }
        specimen.some = maybe { $0.some() }
        specimen.choice = maybe { $0.choice() }
        specimen.amount = maybe { $0.amount() }
        specimen.pet = maybe { $0.pet() }
        specimen.shape = maybe { .Square(.init(_type: "Square", a: $0.number())) }
        specimen.perhaps = maybe { $0.point() }
        specimen.possibly = maybe { $0.below(2) == 0 ? .init(value1: $0.whole()) : .init(value2: $0.text()) }
        specimen.chain = maybe { $0.chain() }
        specimen.tree = maybe { $0.tree() }
        specimen.family = maybe { $0.family() }
        specimen.hen = maybe { $0.hen() }
        specimen.doll = maybe { $0.doll() }
    }

    mutating func specimen() -> Schemas.Specimen {
        var specimen = Schemas.Specimen()
        scalars(of: &specimen)
        objects(of: &specimen)
        compositions(of: &specimen)
        return specimen
    }

    // MARK: Parameters

    mutating func query() -> Operations.query.Input.Query {
        .init(
            text: maybe { $0.text() },
            whole: maybe { $0.whole() },
            small: maybe { Int32(truncatingIfNeeded: $0.next()) },
            number: maybe { $0.number() },
            flag: maybe { $0.below(2) == 0 },
            moment: maybe { $0.moment() },
            bytes: maybe { $0.bytes() },
            colour: maybe { $0.colour() },
            odd_space_name_lbrack__rbrack_: maybe { $0.text() },
            choice: maybe { $0.below(2) == 0 ? .case1($0.whole()) : .case2("?" + $0.text()) }
        )
    }

    mutating func lists() -> Operations.queryLists.Input.Query {
        .init(
            tag: maybe { $0.list(from: 1) { $0.text() } },
            whole: maybe { $0.list(from: 1) { $0.whole() } },
            joined: maybe { $0.list(from: 1) { $0.text(from: 1) } },
            moments: maybe { $0.list(from: 1) { $0.moment() } },
            colours: maybe { $0.list(from: 1) { $0.colour() } }
        )
    }

    mutating func filter() -> Schemas.Filter {
        .init(
            name: text(),
            Max: maybe { $0.whole() },
            since: maybe { $0.moment() },
            tags: maybe { $0.list(from: 1) { $0.text() } },
            colour: maybe { $0.colour() },
            exact: maybe { $0.below(2) == 0 }
        )
    }

    mutating func headers() -> Operations.sendHeaders.Input.Headers {
        .init(
            X_hyphen_Text: maybe { $0.text() },
            X_hyphen_Whole: maybe { $0.whole() },
            X_hyphen_Moment: maybe { $0.moment() },
            X_hyphen_List: maybe { $0.list(from: 1) { $0.text(from: 1) } },
            X_hyphen_Point: maybe { $0.point() }
        )
    }

    mutating func form() -> Operations.sendForm.Input.Body.urlEncodedFormPayload {
        .init(
            Name: text(),
            age: maybe { $0.whole() },
            ratio: maybe { $0.number() },
            flag: maybe { $0.below(2) == 0 },
            moment: maybe { $0.moment() },
            tags: maybe { $0.list(from: 1) { $0.text() } },
            key_space_with_space_space_amp_: maybe { $0.text() }
        )
    }
}
