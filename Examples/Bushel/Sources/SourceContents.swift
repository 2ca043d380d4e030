import Foundation
import MistModels
import WebText

/// The releases that a source lists, and the problems of entries that could not be read.
public struct SourceContents: Sendable, Hashable {
    /// The restore images, each once.
    public var images: [RestoreImage] = []
    /// The releases of Xcode, each once.
    public var xcode: [XcodeVersion] = []
    /// The releases of Swift, each once.
    public var swift: [SwiftVersion] = []
    /// The entries that were left out, and the values that were left out of other entries.
    public var problems: [SourceProblem] = []

    /// The number of releases.
    public var count: Int { images.count + xcode.count + swift.count }

    /// Collects the releases of a source.
    ///
    /// - Throws: ``SourceError`` if no release is left. A source that is suddenly empty is broken: it does not mean
    ///   that there are no releases any more.
    init(
        of source: SourceID,
        images: [RestoreImage] = [],
        xcode: [XcodeVersion] = [],
        swift: [SwiftVersion] = [],
        problems: [SourceProblem]
    ) throws(SourceError) {
        self.images = SourceContents.unique(images)
        self.xcode = SourceContents.unique(xcode)
        self.swift = SourceContents.unique(swift)
        self.problems = problems
        guard count == 0 else { return }
        guard let first = problems.first else { throw SourceError(source, "it lists no release") }
        throw SourceError(source, at: first.place, "\(first.reason), and no other entry can be read")
    }

    /// Each release once, by its key.
    ///
    /// A build may be listed as a candidate and again as final: then the final entry counts. Otherwise, the newest
    /// entry counts.
    static func unique<R: Release>(_ releases: [R]) -> [R] {
        var best: [String: R] = [:]
        for release in releases {
            guard let known = best[release.key] else {
                best[release.key] = release
                continue
            }
            if rank(known) < rank(release) { best[release.key] = release }
        }
        return best.values.sorted { $0.key < $1.key }
    }

    private static func rank<R: Release>(_ release: R) -> (Int, Date, String) {
        (release.isFinal ? 1 : 0, release.releaseDate ?? .distantPast, "\(release)")
    }
}

/// An entry or a value of a source that could not be read.
public struct SourceProblem: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Where in the document the problem is, such as `firmwares[3].buildid` or `row 12`.
    public var place: String
    /// What is wrong.
    public var reason: String

    /// Creates a problem.
    public init(_ place: String, _ reason: String) {
        self.place = place
        self.reason = reason
    }

    /// The place and what is wrong.
    public var description: String { "\(place) \(reason)" }
}

/// Why the document of a source cannot be read.
public struct SourceError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The source.
    public let source: SourceID
    /// Where in the document the problem is, or `nil` if this is not known.
    public let place: String?
    /// What is wrong.
    public let problem: String

    /// Creates an error.
    public init(_ source: SourceID, at place: String? = nil, _ problem: String) {
        self.source = source
        self.place = place
        self.problem = problem
    }

    /// The source, the place and what is wrong.
    public var description: String { "\(source): \(place.map { $0 + " " } ?? "")\(problem)." }
}

/// Reads the values of one entry, and collects the problems of values that are not valid.
struct EntryReader {
    /// Where the entry is in the document.
    let place: String
    /// The problems of the entry so far.
    private(set) var problems: [SourceProblem] = []

    init(_ place: String) {
        self.place = place
    }

    /// Adds a problem of a member, or of the whole entry if the name is empty.
    mutating func note(_ member: String, _ reason: String) {
        problems.append(SourceProblem(member.isEmpty ? place : "\(place).\(member)", reason))
    }

    /// A build number: digits, letters, and nothing else.
    mutating func build(_ text: String?, _ member: String) -> String? {
        guard let text = text?.trimmed.nonEmpty else {
            note(member, "is missing")
            return nil
        }
        let isBuild =
            text.utf8.count <= 20 && text.first?.isASCIIDigit == true
            && text.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit }
        guard isBuild else {
            note(member, "is not a build number: \"\(text.prefix(40))\"")
            return nil
        }
        return text
    }

    /// A version, and its stage if the text has one.
    mutating func version(_ text: String?, _ member: String) -> (version: VersionNumber, stage: String?)? {
        guard let text = text?.trimmed.nonEmpty else {
            note(member, "is missing")
            return nil
        }
        guard let parts = Stage.split(text) else {
            note(member, "is not a version: \"\(text.prefix(40))\"")
            return nil
        }
        return parts
    }

    /// A version that may be absent.
    mutating func optionalVersion(_ text: String?, _ member: String) -> VersionNumber? {
        guard let text = text?.trimmed.nonEmpty else { return nil }
        return version(text, member)?.version
    }

    /// A hash of `digits` hexadecimal digits, in lower case.
    mutating func hash(_ text: String?, digits: Int, _ member: String) -> String? {
        guard let text = text?.trimmed.lowercased().nonEmpty else { return nil }
        guard text.utf8.count == digits, text.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            note(member, "is not a hash of \(digits) hexadecimal digits: \"\(text.prefix(70))\"")
            return nil
        }
        return text
    }

    /// A web address.
    mutating func address(_ text: String?, _ member: String) -> String? {
        guard let text = text?.trimmed.nonEmpty else { return nil }
        guard URLReference.isWebAddress(text) else {
            note(member, "is not an address of the web: \"\(text.prefix(60))\"")
            return nil
        }
        return text
    }

    /// A date, or `nil` if the text is missing or not a date.
    mutating func date(_ text: String?, _ member: String) -> Date? {
        guard let text = text?.trimmed.nonEmpty else { return nil }
        guard let date = WebDate.parse(text) else {
            note(member, "is not a date: \"\(text.prefix(40))\"")
            return nil
        }
        return date
    }

    /// A positive number of bytes.
    mutating func size(_ number: Int?, _ member: String) -> Int? {
        guard let number, number != 0 else { return nil }
        guard number > 0 else {
            note(member, "is not a number of bytes: \(number)")
            return nil
        }
        return number
    }
}
