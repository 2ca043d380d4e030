import CloudKitEmulator
import CloudKitModel

/// Records of a request that are refused.
struct ItemFault: Sendable {
    /// What the present request is to be refused in part.
    @TaskLocal static var current: ItemFault?

    var names: Set<String>?
    var error: ErrorResponse

    func refuses(_ name: String?) -> Bool {
        guard let names else { return true }
        return name.map(names.contains) ?? false
    }

    /// Serves the items that are not refused, and puts the refusals of the others in their places.
    static func serving<Item>(
        _ items: [Item],
        named name: (Item) -> String?,
        atomic: Bool = false,
        _ serve: ([Item]) throws -> RecordPage
    ) throws -> RecordPage {
        guard let fault = current else { return try serve(items) }
        let isRefused = items.map { fault.refuses(name($0)) }
        func refusal(_ item: Item) -> RecordResult {
            .failure(RecordError(recordName: name(item), response: fault.error))
        }
        guard isRefused.contains(true) else { return try serve(items) }
        if atomic || !isRefused.contains(false) {
            let others = ErrorResponse(serverErrorCode: .atomicError, reason: "Atomic failure")
            return RecordPage(
                records: zip(items, isRefused).map { item, isRefused in
                    isRefused ? refusal(item) : .failure(RecordError(recordName: name(item), response: others))
                }
            )
        }
        var page = try serve(zip(items, isRefused).filter { !$0.1 }.map(\.0))
        var served = page.records[...]
        page.records = zip(items, isRefused).compactMap { item, isRefused in
            isRefused ? refusal(item) : served.popFirst()
        }
        return page
    }
}
