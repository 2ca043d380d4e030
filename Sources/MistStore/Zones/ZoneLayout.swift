package import CloudKitModel

/// How the records of the private database are distributed over zones. Records of the public database are in its
/// default zone.
///
/// All programs that open the same folder use the same layout. It can be changed: records stay in the zones that they
/// are in.
public struct ZoneLayout: Hashable, Sendable {
    private enum Kind: Hashable, Sendable {
        case single(String)
        case perRoot
    }

    private let kind: Kind

    /// All records in one zone.
    ///
    /// - Parameter zoneName: The name of the zone, which the store creates: 1 to 255 printable ASCII characters. The
    ///   first character must not be an underscore; otherwise opening the store throws
    ///   ``StoreError/Code-swift.struct/value``.
    /// - Returns: The layout.
    public static func single(_ zoneName: String) -> ZoneLayout { ZoneLayout(kind: .single(zoneName)) }

    /// A zone for each record without a parent, named by a UUID. The records below it are in the same zone.
    ///
    /// A database has at most 1,000 zones; from 900 on, adding a record without a parent throws
    /// ``StoreError/Code-swift.struct/tooManyZones``. A record stays in its zone when its parent is removed from its
    /// fields.
    public static let perRoot = ZoneLayout(kind: .perRoot)

    /// The number of zones from which no further root is added here. The service allows 1,000.
    static let mostZones = 900

    /// Whether records without a parent have zones of their own.
    package var isPerRoot: Bool { kind == .perRoot }

    /// The zone of rows that SQL inserts without a zone. With a zone for each root, no row stays in it.
    package var homeZone: ZoneID {
        switch kind {
        case .single(let name): ZoneID(zoneName: name)
        case .perRoot: ZoneID(zoneName: "Records")
        }
    }

    /// Checks the name of the zone.
    ///
    /// - Throws: A ``StoreError``: `value` for a name that the service does not accept, or whose zone has no feed of
    ///   changes.
    func check() throws {
        guard case .single(let name) = kind else { return }
        let isAccepted = (1...255).contains(name.utf8.count) && name.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        guard isAccepted, !name.hasPrefix("_") else {
            throw StoreError(
                .value,
                """
                The zone name \(name.debugDescription) cannot be used. Choose 1 to 255 printable ASCII characters that do not begin with \
                an underscore: configuration.zones = .single("Records").
                """
            )
        }
    }
}
