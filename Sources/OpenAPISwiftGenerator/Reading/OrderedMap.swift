/// Values by name in document order.
struct OrderedMap<Value> {
    private(set) var keys: [String] = []
    private var values: [ExactText: Value] = [:]

    subscript(key: String) -> Value? {
        get { values[ExactText(key)] }
        set {
            if let newValue {
                if values.updateValue(newValue, forKey: ExactText(key)) == nil { keys.append(key) }
            } else if values.removeValue(forKey: ExactText(key)) != nil {
                keys.removeAll { $0.isExactly(key) }
            }
        }
    }

    var isEmpty: Bool { keys.isEmpty }
    var count: Int { keys.count }

    /// Name and value, in document order.
    var pairs: [(key: String, value: Value)] {
        keys.compactMap { key in values[ExactText(key)].map { (key, $0) } }
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
