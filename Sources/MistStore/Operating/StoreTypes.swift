import GRDB
import MistKit

/// Where the record types of an open store come from.
enum StoreTypes: Sendable {
    /// The program has them.
    case program([any CloudKitRecord.Type])
    /// Each file has them, as far as reading needs them: a tool reads the store of another program.
    case files
    /// The programs of the store have declared them: a tool writes to the store of another program.
    case declared(StoreDeclaration)

    /// The Swift types, which find the records that do not fit them.
    var models: [any CloudKitRecord.Type] {
        switch self {
        case .program(let models): models
        case .files, .declared: []
        }
    }

    /// The declaration of the program; `nil` where the process is the program, or only reads.
    var declaration: StoreDeclaration? {
        if case .declared(let declaration) = self { declaration } else { nil }
    }

    /// The schemas of the types.
    ///
    /// - Parameter path: The file that is opened.
    /// - Returns: The schemas.
    /// - Throws: A ``StoreError`` with a code about the file.
    func schemas(ofFileAtPath path: String) throws -> [RecordSchema] {
        switch self {
        case .program(let models): models.map { $0.schema }
        case .declared(let declaration): declaration.schemas
        case .files:
            try StoreFile.readPresentFormat(atPath: path) { db in try RecordTypes(db: db).tables(nil).map(\.schema) }
        }
    }
}

extension RecordTable {
    /// The schema of the type, as far as the table has it. The former names of a field are not fields of their own.
    var schema: RecordSchema {
        RecordSchema(
            recordType: recordType,
            fields: fields.filter { $0.successor == nil }.map { field in
                var schema = field.schema
                schema.formerNames = formers(of: field).map(\.name)
                return schema
            }
        )
    }
}
