import CloudKitModel

extension CloudKitError {
    /// The same error, with the fields that the request had where the service's reason does not name one.
    ///
    /// `Invalid value, expected type INT64.` and `BadRequestException: Unexpected input` (both observed live) name no field. The
    /// message then lists what was sent, so that a person can find the one.
    ///
    /// - Parameter fields: The names and values of the request, in its order.
    /// - Returns: The error.
    func naming(_ fields: [(name: String, value: FieldValue)]) -> CloudKitError {
        guard code == .badRequest, let reason, !fields.isEmpty,
            reason.contains("expected type") || reason.contains("Unexpected input"),
            !fields.contains(where: { reason.contains("'\($0.name)'") })
        else { return self }
        var list = fields.prefix(20).map { field in
            field.name + (field.value.type.map { " (\($0.rawValue))" } ?? "")
        }
        if fields.count > list.count { list.append("and \(fields.count - list.count) more") }
        var error = self
        error.message += " The service does not name the field; the request has \(list.joined(separator: ", "))."
        return error
    }

    /// The same error, where a query that goes on from a marker was refused: most likely it is another query.
    func refusing(marker: String?) -> CloudKitError {
        guard marker != nil, code == .badRequest else { return self }
        var error = self
        error.message = """
            The service refused the query with this continuation marker. A marker belongs to the query that returned it: send \
            the same type, filters, sorts and zone, with the same values. A filter on the present time, such as `.now`, is another \
            query each time; keep its value together with the marker.
            """
        return error
    }
}

extension RecordQuery {
    /// The fields that filters compare, with the values that they compare them with.
    var comparedFields: [(name: String, value: FieldValue)] {
        filters.map { ($0.fieldName ?? $0.systemFieldName?.rawValue ?? "", $0.fieldValue) }
    }
}
