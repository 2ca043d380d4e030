import MistKit

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension WebAuthenticator {
    /// Opens an address in the system's browser: with `open` on the Mac, with `xdg-open` elsewhere.
    ///
    /// - Parameter url: The address, `http` or `https`.
    /// - Throws: A `CloudKitError`: `CloudKitError.Code.signInFailed` where the system has no such program;
    ///   `CloudKitError.Code.invalidArgument` for another scheme. Apps on iOS and similar systems show the address
    ///   themselves.
    public static func openInBrowser(_ url: URL) throws {
        guard url.scheme == "http" || url.scheme == "https" else {
            throw CloudKitError(code: .invalidArgument, message: "Only http and https open in a browser.")
        }
        #if os(macOS)
            let opener = "open"
        #else
            let opener = "xdg-open"
        #endif
        #if os(macOS) || canImport(Glibc) || canImport(Musl)
            // The shell starts the browser in the background and ends at once. The address is an argument and not part
            // of the script.
            let script = #"command -v "$0" >/dev/null 2>&1 || exit 127; "$0" "$1" >/dev/null 2>&1 </dev/null &"#
            guard run("/bin/sh", ["sh", "-c", script, opener, url.absoluteString]) == 0 else {
                throw noBrowser("\(opener) is not there", url)
            }
        #else
            throw noBrowser("this system has no command for it", url)
        #endif
    }

    private static func noBrowser(_ problem: String, _ url: URL) -> CloudKitError {
        CloudKitError(
            code: .signInFailed,
            message:
                "No browser could be opened: \(problem). Show people the address in a way of your own: \(url.absoluteString)"
        )
    }

    #if os(macOS) || canImport(Glibc) || canImport(Musl)
        /// Runs a program to its end, and returns its exit code; -1 when the program cannot be started or a signal ends
        /// it.
        private static func run(_ program: String, _ arguments: [String]) -> Int32 {
            var pointers = arguments.map { strdup($0) } + [nil]
            defer { for pointer in pointers { free(pointer) } }
            var process: pid_t = 0
            guard posix_spawn(&process, program, nil, nil, &pointers, environ) == 0 else { return -1 }
            var status: Int32 = 0
            while waitpid(process, &status, 0) == -1 {
                guard errno == EINTR else { return -1 }
            }
            return status & 0x7F == 0 ? (status >> 8) & 0xFF : -1
        }
    #endif
}
