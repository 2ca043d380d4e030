/// The media types that the responses of one operation can have.
///
/// Generated code declares a conforming enumeration for each operation.
public protocol AcceptableProtocol: RawRepresentable, Sendable, Hashable, CaseIterable where RawValue == String {}

/// One entry of an Accept header: a media type and its quality.
///
/// ```swift
/// let accept: [AcceptHeaderContentType<Operations.GetStats.AcceptableContentType>] = [
///     .init(contentType: .json), .init(contentType: .plainText, quality: 0.8),
/// ]
/// // accept: application/json, text/plain; q=0.800
/// ```
public struct AcceptHeaderContentType<ContentType: AcceptableProtocol>: Sendable, Hashable {
    /// The media type.
    public var contentType: ContentType

    /// How much the client wants it, from 0 to 1.
    public var quality: QualityValue

    /// Creates an entry.
    /// - Parameters:
    ///   - contentType: The media type.
    ///   - quality: How much the client wants it, from 0 to 1.
    @inlinable
    public init(contentType: ContentType, quality: QualityValue = 1.0) {
        self.contentType = contentType
        self.quality = quality
    }

    /// Every media type that the operation's responses can have, all with the quality 1.
    @inlinable
    public static var defaultValues: [Self] {
        ContentType.allCases.map { Self(contentType: $0) }
    }
}

extension AcceptHeaderContentType: RawRepresentable {
    /// Reads an entry of an Accept header: `text/plain` or `text/plain; q=0.8`.
    ///
    /// Other parameters are ignored. The result is nil if the text is not a media type, or if its quality is not a
    /// number from 0 to 1.
    /// - Parameter rawValue: The text of the entry.
    public init?(rawValue: String) {
        // Most entries are only a media type, spelled as in the document.
        if Self.isPlain(rawValue) {
            guard let contentType = ContentType(rawValue: rawValue) else { return nil }
            self.init(contentType: contentType)
            return
        }
        let parts = rawValue.split(separator: ";", omittingEmptySubsequences: false)
        let mediaType = Self.trimming(parts[0]).lowercased()
        let slash = mediaType.split(separator: "/", omittingEmptySubsequences: false)
        guard slash.count == 2, slash.allSatisfy({ !$0.isEmpty && !$0.utf8.contains(UInt8(ascii: " ")) }) else {
            return nil
        }
        guard let contentType = ContentType(rawValue: mediaType) else { return nil }
        var quality: QualityValue = 1.0
        for part in parts.dropFirst() {
            guard let equals = part.firstIndex(of: "=") else { continue }
            guard Self.trimming(part[..<equals]).lowercased() == "q" else { continue }
            let value = Self.trimming(part[part.index(after: equals)...])
            guard let parsed = QualityValue(rawValue: String(value)) else { return nil }
            quality = parsed
        }
        self.init(contentType: contentType, quality: quality)
    }

    /// The text of the entry; a quality of 1 is left out.
    public var rawValue: String {
        quality.isDefault ? contentType.rawValue : "\(contentType.rawValue); q=\(quality.rawValue)"
    }

    /// Whether a text has the form of a media type in lower case with nothing around it.
    private static func isPlain(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { (bytes: UnsafeBufferPointer<UInt8>) -> Bool in
            guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")), slash > 0, slash + 1 < bytes.count else {
                return false
            }
            for (index, byte) in bytes.enumerated() {
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"),
                    UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "*"):
                    continue
                default: guard index == slash else { return false }
                }
            }
            return true
        }
    }

    private static func trimming(_ text: Substring) -> Substring {
        var text = text
        while let first = text.utf8.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
            text = text.dropFirst()
        }
        while let last = text.utf8.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") {
            text = text.dropLast()
        }
        return text
    }
}

extension Array {
    /// Every media type that the operation's responses can have, all with the quality 1.
    @inlinable
    public static func defaultValues<ContentType: AcceptableProtocol>() -> [AcceptHeaderContentType<ContentType>]
    where Element == AcceptHeaderContentType<ContentType> {
        AcceptHeaderContentType<ContentType>.defaultValues
    }

    /// The entries sorted by quality, the highest first. Entries with the same quality keep their order.
    public func sortedByQuality<ContentType: AcceptableProtocol>() -> [AcceptHeaderContentType<ContentType>]
    where Element == AcceptHeaderContentType<ContentType> {
        sorted { $0.quality.doubleValue > $1.quality.doubleValue }
    }
}
