import MistModels

enum Kind: String { case memo, list }

// error: A field cannot have this type. Write enum Status: String, FieldConvertible, or @CloudKitField(.json) var status: Status.
@CloudKitRecord
struct Sheet {
    var kind: Kind
    var otherKinds: [Kind]?
    @CloudKitField(.encrypted) var secretKind: Kind?
}
