package import HTTPTypes

/// Finds the route of a request among path templates.
///
/// A path is matched segment by segment while it is percent-encoded, so an encoded slash never divides segments. A
/// literal segment has precedence over a segment with placeholders, and among these the one with more literal bytes. A
/// placeholder matches one byte or more. One slash at the end of a path is ignored.
package struct PathRouter<Value: Sendable>: Sendable {
    /// The result of matching a request.
    package enum Match {
        /// The value and the template of a route, and the values of its placeholders, percent-decoded.
        case found(Value, template: String, parameters: [String: Substring])

        /// Only other methods have a route with this path.
        case methodNotAllowed(allowed: [HTTPRequest.Method])

        /// No route has this path.
        case notFound
    }

    private var routes = PathTree()
    private var values: [Value] = []

    package init() {}

    /// Adds a route.
    package mutating func add(_ value: Value, method: HTTPRequest.Method, template: String) throws(RouteError) {
        try routes.add(values.count, method: method, template: template)
        values.append(value)
    }

    /// Finds the route of a request.
    /// - Parameters:
    ///   - method: The method of the request.
    ///   - path: The path of the request, percent-encoded; a query or fragment is ignored.
    /// - Returns: The route, or the reason that none matches.
    package func match(_ method: HTTPRequest.Method, _ path: String) -> Match {
        switch routes.match(method, path) {
        case .found(let index, let template, let parameters):
            .found(values[index], template: template, parameters: parameters.mapValues(PercentEncoding.decoded))
        case .methodNotAllowed(let allowed): .methodNotAllowed(allowed: allowed)
        case .notFound: .notFound
        }
    }

    /// The values of the placeholders, still percent-encoded; nil if no route of the method matches.
    func encodedParameters(_ method: HTTPRequest.Method, _ path: String) -> [String: Substring]? {
        guard case .found(_, _, let parameters) = routes.match(method, path) else { return nil }
        return parameters
    }
}

/// The templates of a router as a tree of segments.
///
/// It is outside of the generic type, so that it is compiled once and not for each type of value.
private struct PathTree: Sendable {
    enum Match {
        /// The values of the placeholders are percent-encoded.
        case found(Int, template: String, parameters: [String: Substring])
        case methodNotAllowed([HTTPRequest.Method])
        case notFound
    }

    private struct Route {
        var method: HTTPRequest.Method
        var template: String
        var names: [String]
        var index: Int
    }

    private struct Node {
        /// Sorted by length, then bytes.
        var literals: [(bytes: [UInt8], child: Int)] = []
        /// Sorted by the number of literal bytes, most first.
        var patterns: [(literals: [[UInt8]], child: Int)] = []
        var routes: [Route] = []
    }

    private var nodes: [Node] = [Node()]

    /// Adds a route.
    mutating func add(_ index: Int, method: HTTPRequest.Method, template text: String) throws(RouteError) {
        let template = try PathTemplate(text)
        var node = 0
        for segment in template.segments {
            node = child(of: node, at: segment)
        }
        if let other = nodes[node].routes.first(where: { $0.method == method }) {
            throw RouteError(
                code: .alreadyRegistered,
                message: "There is a handler for \(method) \(other.template) already; \(text) is the same to a router."
            )
        }
        nodes[node].routes.append(Route(method: method, template: text, names: template.names, index: index))
    }

    private mutating func child(of node: Int, at segment: PathTemplate.Segment) -> Int {
        let next = nodes.count
        switch segment {
        case .literal(let bytes):
            let (index, isPresent) = Self.position(of: bytes, in: nodes[node].literals)
            if isPresent { return nodes[node].literals[index].child }
            nodes[node].literals.insert((bytes, next), at: index)
        case .placeholders(let literals):
            if let known = nodes[node].patterns.first(where: { $0.literals == literals }) { return known.child }
            let weight = literals.joined().count
            let index = nodes[node].patterns.firstIndex { $0.literals.joined().count < weight }
            nodes[node].patterns.insert((literals, next), at: index ?? nodes[node].patterns.endIndex)
        }
        nodes.append(Node())
        return next
    }

    /// Finds the route of a request.
    func match(_ method: HTTPRequest.Method, _ path: String) -> Match {
        var path = path
        var allowed: [HTTPRequest.Method] = []
        let found = path.withUTF8 { bytes in
            var search = Search(tree: self, method: method, bytes: Self.pathWithoutQuery(bytes))
            defer { allowed = search.allowed }
            return search.route(from: 0, at: 0).map { ($0, search.captures) }
        }
        if let (route, captures) = found {
            var parameters: [String: Substring] = [:]
            for (name, range) in zip(route.names, captures) {
                let start = path.utf8.index(path.startIndex, offsetBy: range.lowerBound)
                parameters[name] = path[start..<path.utf8.index(start, offsetBy: range.count)]
            }
            return .found(route.index, template: route.template, parameters: parameters)
        }
        return allowed.isEmpty ? .notFound : .methodNotAllowed(allowed.sorted { $0.rawValue < $1.rawValue })
    }

    /// The path without a slash at its beginning, a slash at its end, the query and the fragment.
    private static func pathWithoutQuery(_ bytes: UnsafeBufferPointer<UInt8>) -> Slice<UnsafeBufferPointer<UInt8>> {
        var end = bytes.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? bytes.endIndex
        var start = 0
        if start < end, bytes[start] == UInt8(ascii: "/") { start += 1 }
        if start < end, bytes[end - 1] == UInt8(ascii: "/") { end -= 1 }
        return bytes[start..<end]
    }

    private static func position(
        of bytes: some RandomAccessCollection<UInt8>,
        in literals: [(bytes: [UInt8], child: Int)]
    ) -> (index: Int, isPresent: Bool) {
        var (low, high) = (0, literals.count)
        while low < high {
            let middle = (low + high) / 2
            let literal = literals[middle].bytes
            if literal.count < bytes.count || (literal.count == bytes.count && literal.lexicographicallyPrecedes(bytes))
            {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return (low, low < literals.count && literals[low].bytes.elementsEqual(bytes))
    }

    /// One search down the tree, with backtracking where a branch does not match.
    private struct Search {
        typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

        let tree: PathTree
        let method: HTTPRequest.Method
        let bytes: Bytes

        /// The values of the placeholders so far, as positions in the path.
        var captures: [Range<Int>] = []

        /// The methods of the routes that match the path.
        var allowed: [HTTPRequest.Method] = []

        mutating func route(from nodeIndex: Int, at start: Int) -> Route? {
            let start = nodeIndex == 0 ? bytes.startIndex : start
            let isAtEnd = nodeIndex == 0 ? bytes.isEmpty : start > bytes.endIndex
            if isAtEnd {
                for route in tree.nodes[nodeIndex].routes {
                    if route.method == method { return route }
                    if !allowed.contains(route.method) { allowed.append(route.method) }
                }
                return nil
            }
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.endIndex
            let segment = bytes[start..<end]
            if let child = literalChild(of: nodeIndex, segment), let route = route(from: child, at: end + 1) {
                return route
            }
            for pattern in tree.nodes[nodeIndex].patterns {
                let count = captures.count
                if capture(segment, around: pattern.literals), let route = route(from: pattern.child, at: end + 1) {
                    return route
                }
                captures.removeSubrange(count...)
            }
            return nil
        }

        private func literalChild(of nodeIndex: Int, _ segment: Bytes) -> Int? {
            let literals = tree.nodes[nodeIndex].literals
            guard !literals.isEmpty else { return nil }
            let position: (index: Int, isPresent: Bool)
            if segment.contains(UInt8(ascii: "%")) {
                position = PathTree.position(of: PercentEncoding.decode(segment), in: literals)
            } else {
                position = PathTree.position(of: segment, in: literals)
            }
            return position.isPresent ? literals[position.index].child : nil
        }

        /// Records the values of the placeholders of a segment. Each value ends at the first occurrence of the literal
        /// after it.
        private mutating func capture(_ segment: Bytes, around literals: [[UInt8]]) -> Bool {
            guard let prefix = literals.first, let suffix = literals.last, segment.starts(with: prefix) else {
                return false
            }
            var start = segment.startIndex + prefix.count
            for literal in literals[1..<(literals.count - 1)] {
                var end = start + 1
                while end + literal.count <= segment.endIndex, !segment[end...].starts(with: literal) { end += 1 }
                guard end + literal.count <= segment.endIndex else { return false }
                captures.append(start..<end)
                start = end + literal.count
            }
            let end = segment.endIndex - suffix.count
            guard start < end, segment[end...].elementsEqual(suffix) else { return false }
            captures.append(start..<end)
            return true
        }
    }
}
