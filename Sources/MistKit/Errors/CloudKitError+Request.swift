import CloudKitModel

extension CloudKitError {
    /// The same error. If the service's reason names no field, the message lists the fields of the request.
    ///
    /// `Invalid value, expected type INT64.` and `BadRequestException: Unexpected input` (both observed live) name no
    /// field. The list helps a person to find the invalid field.
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

    /// The same error. If a query that continues from a marker was refused, the message says that it is probably
    /// another query.
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
    /// The fields that the filters compare, with the values of the filters.
    var comparedFields: [(name: String, value: FieldValue)] {
        filters.map { ($0.fieldName ?? $0.systemFieldName?.rawValue ?? "", $0.fieldValue) }
    }
}
