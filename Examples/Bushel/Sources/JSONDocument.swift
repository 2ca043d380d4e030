import Foundation
import WebText

/// Reads the JSON of a source. An entry that cannot be read does not affect the others.
enum JSONDocument {
    /// Reads a document.
    ///
    /// - Throws: ``SourceError`` for text that is not JSON, and for JSON of another shape.
    static func decode<Value: Decodable>(
        _ type: Value.Type,
        from body: [UInt8],
        of source: SourceID
    ) throws(SourceError) -> Value {
        guard let first = body.first(where: { !$0.isXMLSpace }) else {
            throw SourceError(source, "the response is empty")
        }
        guard first != UInt8(ascii: "<") else { throw SourceError(source, "the response is not JSON but HTML or XML") }
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch let error as DecodingError {
            let problem = JSONDocument.problem(of: error, below: 0)
            guard !problem.place.isEmpty else { throw SourceError(source, "the document \(problem.reason)") }
            throw SourceError(source, at: problem.place, problem.reason)
        } catch {
            throw SourceError(source, "the response is not valid JSON")
        }
    }

    /// The entries of a list that can be read, with their positions, and the problems of the others.
    static func entries<Value>(
        _ list: [ListEntry<Value>],
        in name: String = ""
    ) -> (read: [(place: String, value: Value)], problems: [SourceProblem]) {
        var read: [(place: String, value: Value)] = []
        var problems: [SourceProblem] = []
        for (index, entry) in list.enumerated() {
            let place = "\(name)[\(index)]"
            switch entry.result {
            case .success(let value): read.append((place, value))
            case .failure(let problem):
                problems.append(
                    SourceProblem(problem.place.isEmpty ? place : "\(place).\(problem.place)", problem.reason)
                )
            }
        }
        return (read, problems)
    }

    /// The position and the reason of a decoding error. The first `depth` parts of the path are left out, since they
    /// are known.
    static func problem(of error: DecodingError, below depth: Int) -> SourceProblem {
        func place(_ path: [any CodingKey]) -> String {
            path.dropFirst(depth).reduce(into: "") { text, key in
                if let index = key.intValue {
                    text += "[\(index)]"
                } else {
                    text += (text.isEmpty ? "" : ".") + key.stringValue
                }
            }
        }
        switch error {
        case .keyNotFound(let key, let context): return SourceProblem(place(context.codingPath + [key]), "is missing")
        case .valueNotFound(_, let context): return SourceProblem(place(context.codingPath), "is null")
        case .typeMismatch(let type, let context):
            return SourceProblem(place(context.codingPath), "is not \(name(of: type))")
        case .dataCorrupted(let context):
            guard context.codingPath.count <= depth else {
                return SourceProblem(place(context.codingPath), "cannot be read: \(context.debugDescription)")
            }
            return SourceProblem("", "is not valid JSON")
        @unknown default: return SourceProblem("", "cannot be read")
        }
    }

    private static func name(of type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is any BinaryInteger.Type: "an integer"
        case is any FloatingPoint.Type: "a number"
        case is [Any].Type: "a list"
        default: "\(type)".hasPrefix("Array<") ? "a list" : "an object"
        }
    }
}

/// An entry of a list. An entry that cannot be read does not fail the whole list.
struct ListEntry<Value: Decodable>: Decodable {
    /// Why an entry cannot be read.
    struct Failure: Error {
        var place: String
        var reason: String
    }

    let result: Result<Value, Failure>

    init(from decoder: any Decoder) throws {
        do {
            result = .success(try Value(from: decoder))
        } catch let error as DecodingError {
            let problem = JSONDocument.problem(of: error, below: decoder.codingPath.count)
            result = .failure(Failure(place: problem.place, reason: problem.reason))
        }
    }
}
