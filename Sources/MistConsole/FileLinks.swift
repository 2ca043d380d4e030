import CloudKitEmulatorServer
import Synchronization

/// Addresses of the proxy that stand for addresses of files at the service.
///
/// An address of a file is a credential: everyone who has it can fetch the file. So it stays in the process. The page gets a
/// random number in its place, which is the same for the same address, so that a picture is not fetched twice.
final class FileLinks: Sendable {
    private struct State {
        var linkOfAddress: [String: String] = [:]
        var addressOfLink: [String: String] = [:]
        var order: [String] = []
    }

    /// How many addresses are kept. Then the oldest half is forgotten.
    private static let capacity = 20_000
    /// What the service writes instead of the file's name.
    private static let nameMark = "${f}"
    private let state = Mutex(State())

    /// The end of an address for a file; `nil` for a text that is not an address.
    func link(to address: String) -> String? {
        guard address.hasPrefix("https://") || address.hasPrefix("http://") else { return nil }
        let link = state.withLock { state in
            if let link = state.linkOfAddress[address] { return link }
            let link = StartSecret().revealDigits()
            if state.order.count >= Self.capacity {
                for link in state.order.prefix(Self.capacity / 2) {
                    state.addressOfLink.removeValue(forKey: link).map {
                        _ = state.linkOfAddress.removeValue(forKey: $0)
                    }
                }
                state.order.removeFirst(Self.capacity / 2)
            }
            state.linkOfAddress[address] = link
            state.addressOfLink[link] = address
            state.order.append(link)
            return link
        }
        return address.contains(Self.nameMark) ? "\(link)/\(Self.nameMark)" : link
    }

    /// The address that a link stands for, with the name of the file that the page put into the link.
    func address(of link: Substring) -> String? {
        let parts = link.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let digits = parts.first, let address = state.withLock({ $0.addressOfLink[String(digits)] }) else {
            return nil
        }
        guard address.contains(Self.nameMark) else { return address }
        let name = parts.count == 2 ? parts[1].prefix { $0 != "?" && $0 != "#" && $0 != "/" } : "file"
        return address.replacing(Self.nameMark, with: name.isEmpty || name.contains("$") ? "file" : name)
    }
}
