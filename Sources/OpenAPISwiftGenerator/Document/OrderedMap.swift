/// Values by name in document order.
struct OrderedMap<Value> {
    private(set) var keys: [String] = []
    private var values: [String: Value] = [:]

    subscript(key: String) -> Value? {
        get { values[key] }
        set {
            if let newValue {
                if values.updateValue(newValue, forKey: key) == nil { keys.append(key) }
            } else if values.removeValue(forKey: key) != nil {
                keys.removeAll { $0 == key }
            }
        }
    }

    var isEmpty: Bool { keys.isEmpty }
    var count: Int { keys.count }

    /// Name and value, in document order.
    var pairs: [(key: String, value: Value)] {
        keys.compactMap { key in values[key].map { (key, $0) } }
    }

    /// The entries whose names satisfy the condition.
    func filter(_ isIncluded: (String) -> Bool) -> OrderedMap<Value> {
        var result = OrderedMap<Value>()
        for (key, value) in pairs where isIncluded(key) {
            result[key] = value
        }
        return result
    }
}

extension OrderedMap: Sendable where Value: Sendable {}
