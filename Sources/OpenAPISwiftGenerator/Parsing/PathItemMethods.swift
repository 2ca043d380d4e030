/// The keys of a path item that hold an operation.
enum PathItemMethods {
    /// Those of every version of OpenAPI.
    static let common: [String] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]

    /// Those of every version, and the one that OpenAPI 3.2 adds.
    static let all: [String] = common + ["query"]
}
