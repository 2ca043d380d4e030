// The fuzz target of CloudKitSchema; Scripts/fuzz-schema compiles it into one module with the library and runs it.

/// Called by libFuzzer with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzSchema(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    let document: SchemaDocument
    do {
        document = try SchemaDocument(parsing: text)
    } catch let error as SchemaSyntaxError {
        promise(error.location.line >= 1 && error.location.column >= 1, "a mistake has a line and a column")
        promise(error.description.contains("^"), "a mistake has a mark")
        return 0
    } catch {
        fatalError("every error is a syntax error")
    }
    let formatted = document.formatted()
    let again = try? SchemaDocument(parsing: formatted)
    promise(again?.schema == document.schema, "the canonical form means the same")
    promise(again?.formatted() == formatted, "the canonical form is its own canonical form")
    for problem in document.problems() { promise(problem.location != nil, "each problem has a place") }
    if document.problems().isEmpty {
        let written = try? ContainerSchema(parsing: document.schema.description)
        let comparison = written.map { SchemaComparison(from: document.schema, to: $0) }
        promise(comparison?.isEmpty == true, "what is written means the same")
    }
    _ = RecordModels(of: document.schema)
    return 0
}

private func promise(_ holds: Bool, _ sentence: StaticString) {
    if !holds { fatalError("\(sentence)") }
}
