/// Parses the expectations of the suite.
struct ExpressionParser {
    private enum Token: Equatable {
        case name(String)
        case number(Double)
        case string(String)
        case symbol(String)
    }

    private let tokens: [Token]
    private var position = 0

    static func parse(_ text: String) throws(Expression.Failure) -> Expression {
        var parser = ExpressionParser(tokens: try tokens(of: Array(text)))
        let expression = try parser.alternative()
        guard parser.position == parser.tokens.count else {
            throw Expression.Failure(message: "unexpected \(parser.tokens[parser.position])")
        }
        return expression
    }

    private init(tokens: [Token]) {
        self.tokens = tokens
    }

    // MARK: - Tokens

    private static func tokens(of text: [Character]) throws(Expression.Failure) -> [Token] {
        var tokens: [Token] = []
        var index = 0
        while index < text.count {
            let character = text[index]
            if character.isWhitespace {
                index += 1
            } else if character == "'" || character == "\"" {
                tokens.append(.string(try string(in: text, at: &index)))
            } else if character == "u", index + 1 < text.count, text[index + 1] == "'" || text[index + 1] == "\"" {
                index += 1
            } else if character.isLetter || character == "_" {
                let start = index
                while index < text.count, text[index].isLetter || text[index].isNumber || text[index] == "_" {
                    index += 1
                }
                tokens.append(.name(String(text[start..<index])))
            } else if character.isNumber {
                let start = index
                while index < text.count, text[index].isNumber || text[index] == "." { index += 1 }
                tokens.append(.number(Double(String(text[start..<index])) ?? 0))
            } else if index + 1 < text.count, ["==", "!="].contains(String(text[index...(index + 1)])) {
                tokens.append(.symbol(String(text[index...(index + 1)])))
                index += 2
            } else {
                tokens.append(.symbol(String(character)))
                index += 1
            }
        }
        return tokens
    }

    private static func string(in text: [Character], at index: inout Int) throws(Expression.Failure) -> String {
        let quote = text[index]
        let isTriple = index + 2 < text.count && text[index + 1] == quote && text[index + 2] == quote
        index += isTriple ? 3 : 1
        var result = String.UnicodeScalarView()
        while index < text.count {
            if text[index] == quote {
                guard isTriple else {
                    index += 1
                    return String(result)
                }
                if index + 2 < text.count, text[index + 1] == quote, text[index + 2] == quote {
                    index += 3
                    return String(result)
                }
            }
            guard text[index] == "\\", index + 1 < text.count else {
                result.append(contentsOf: text[index].unicodeScalars)
                index += 1
                continue
            }
            let digits = ["x": 2, "u": 4, "U": 8][text[index + 1]] ?? 0
            if digits > 0, index + 2 + digits <= text.count,
                let number = UInt32(String(text[(index + 2)..<(index + 2 + digits)]), radix: 16),
                let scalar = Unicode.Scalar(number)
            {
                result.append(scalar)
                index += 2 + digits
            } else {
                let escapes: [Character: Character] = ["n": "\n", "t": "\t", "r": "\r"]
                result.append(contentsOf: (escapes[text[index + 1]] ?? text[index + 1]).unicodeScalars)
                index += 2
            }
        }
        throw Expression.Failure(message: "a string is not closed")
    }

    // MARK: - Grammar

    private mutating func alternative() throws(Expression.Failure) -> Expression {
        var expression = try conjunction()
        while take(.name("or")) { expression = .or(expression, try conjunction()) }
        return expression
    }

    private mutating func conjunction() throws(Expression.Failure) -> Expression {
        var expression = try negation()
        while take(.name("and")) { expression = .and(expression, try negation()) }
        return expression
    }

    private mutating func negation() throws(Expression.Failure) -> Expression {
        if take(.name("not")) { return .not(try negation()) }
        return try comparison()
    }

    private mutating func comparison() throws(Expression.Failure) -> Expression {
        let first = try operand()
        var rest: [(comparison: String, operand: Expression)] = []
        while true {
            if take(.symbol("==")) {
                rest.append(("==", try operand()))
            } else if take(.symbol("!=")) {
                rest.append(("!=", try operand()))
            } else if take(.name("is")) {
                rest.append(("is", try operand()))
            } else if take(.name("in")) {
                rest.append(("in", try operand()))
            } else if peek(.name("not")), position + 1 < tokens.count, tokens[position + 1] == .name("in") {
                position += 2
                rest.append(("not in", try operand()))
            } else {
                return rest.isEmpty ? first : .compare(first, rest)
            }
        }
    }

    private mutating func operand() throws(Expression.Failure) -> Expression {
        var expression = try primary()
        while true {
            if take(.symbol("[")) {
                expression = .member(expression, try alternative())
                try require("]")
            } else if take(.symbol(".")) {
                guard position < tokens.count, case .name(let name) = tokens[position] else {
                    throw Expression.Failure(message: "no name after a dot")
                }
                position += 1
                expression = .member(expression, .literal(.string(name)))
            } else if take(.symbol("(")) {
                expression = .call(expression, try elements(to: ")"))
            } else {
                return expression
            }
        }
    }

    private mutating func primary() throws(Expression.Failure) -> Expression {
        guard position < tokens.count else { throw Expression.Failure(message: "the expression ends early") }
        let token = tokens[position]
        position += 1
        switch token {
        case .name("None"): return .literal(.none)
        case .name("True"): return .literal(.bool(true))
        case .name("False"): return .literal(.bool(false))
        case .name(let name): return .name(name)
        case .number(let number): return .literal(.number(number))
        case .string(let text): return .literal(.string(text))
        case .symbol("["): return .list(try elements(to: "]"))
        case .symbol("("):
            let start = position
            let elements = try elements(to: ")")
            // Parentheses around one expression do not make a tuple.
            let isTuple = tokens[start..<position].contains(.symbol(",")) && elements.count != 1
            if let first = elements.first, !isTuple { return first }
            return .list(elements)
        case .symbol("{"):
            var pairs: [(Expression, Expression)] = []
            while !take(.symbol("}")) {
                let key = try alternative()
                try require(":")
                pairs.append((key, try alternative()))
                if !peek(.symbol("}")) { try require(",") }
            }
            return .dictionary(pairs)
        case .symbol(let symbol): throw Expression.Failure(message: "unexpected \(symbol)")
        }
    }

    private mutating func elements(to end: String) throws(Expression.Failure) -> [Expression] {
        var elements: [Expression] = []
        while !take(.symbol(end)) {
            elements.append(try alternative())
            if !peek(.symbol(end)) { try require(",") }
        }
        return elements
    }

    private func peek(_ token: Token) -> Bool { position < tokens.count && tokens[position] == token }

    private mutating func take(_ token: Token) -> Bool {
        guard peek(token) else { return false }
        position += 1
        return true
    }

    private mutating func require(_ symbol: String) throws(Expression.Failure) {
        guard take(.symbol(symbol)) else { throw Expression.Failure(message: "no \(symbol) at token \(position)") }
    }
}
