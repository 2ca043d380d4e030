import CloudKitEmulator
import CloudKitModel
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The hosts under which a listening server is reached.
///
/// A page can give its own host name the address of this machine, after the browser has loaded it ("DNS rebinding"). To
/// the browser, the server then belongs to the page. Its requests carry the name in the field `Host`, so the server
/// answers only for names that are its own.
package struct ServedHosts: Sendable {
    /// In lower case, and with brackets around addresses of IPv6.
    private let names: [String]

    /// Decides which hosts are served.
    ///
    /// - Parameters:
    ///   - host: The host on which the server listens.
    ///   - addresses: The addresses of this machine, which a server on another interface than the loopback one has.
    ///   - others: Further names of the machine, which a configuration names. A port behind a name is not compared.
    init(listeningOn host: String, addresses: [String], others: [String]) {
        let others = others.map { HostName($0)?.host ?? $0 }
        let written = ([host] + addresses + others).map { $0.contains(":") && !$0.hasPrefix("[") ? "[\($0)]" : $0 }
        var names: [String] = []
        for name in written.map({ $0.lowercased() }) where !name.isEmpty && !names.contains(name) {
            names.append(name)
        }
        self.names = names
    }

    /// The hosts of a server on this machine.
    package init(listeningOn host: String, others: [String]) {
        // A server on the loopback interface has no other address.
        let isLocal = HostName.isLocal(listeningOn: host)
        let devices = isLocal ? [] : (try? System.enumerateDevices()) ?? []
        let addresses = devices.compactMap { $0.address?.ipAddress?.split(separator: "%").first.map(String.init) }
        let ownName = isLocal ? [] : [ProcessInfo.processInfo.hostName]
        self.init(listeningOn: host, addresses: addresses + ownName, others: others)
    }

    /// Whether requests with this value of `Host` are for the server. A request of HTTP/1.0 can have none.
    ///
    /// The port is not compared: a forwarded port has another number. An address is served, whichever it is: only a name
    /// can be given another address, and a forwarded port is reached by an address that the server does not know.
    package func serve(_ authority: String?) -> Bool {
        guard let authority, !authority.isEmpty else { return true }
        guard let name = HostName(authority) else { return false }
        let host = name.host.hasSuffix(".") ? String(name.host.dropLast()) : name.host
        return HostName.isLoopback(host) || HostName.isAddress(host) || names.contains(host)
    }

    /// The failure for a request to another host.
    func failure(for authority: String?) -> RequestFailure {
        let known = (["localhost"] + names.filter { !HostName.isLoopback($0) }).joined(separator: ", ")
        return RequestFailure(
            EmulatorError(
                .accessDenied,
                """
                the host '\(String((authority ?? "").prefix(255)))' is not this server's, which has \(known); add the host with --allow-host, \
                or Configuration.hostNames
                """
            )
        )
    }
}
