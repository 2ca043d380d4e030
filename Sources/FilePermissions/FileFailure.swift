#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// What the system refused to do with a file.
package struct FileFailure: Error, CustomStringConvertible {
    let path: String
    /// What the file cannot be: "locked".
    let problem: String
    /// The system's number of the error.
    let code: Int32

    package init(path: String, problem: String, code: Int32) {
        self.path = path
        self.problem = problem
        self.code = code
    }

    package var description: String {
        #if os(Windows)
            "the file \(path) cannot be \(problem) (error \(code))"
        #else
            "the file \(path) cannot be \(problem): \(String(cString: strerror(code)))"
        #endif
    }
}
